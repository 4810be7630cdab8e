#include "train/options/data_options.h"

#include <omp.h>

#include "train/cli/option_types.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMany = 1'000'000'000;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T>
void read(const Json& json, const char* key, T& value) {
  if (json.contains(key)) json.at(key).get_to(value);
}

void read(const Json& json, const char* key, std::optional<std::int64_t>& value) {
  if (json.contains(key) && !json.at(key).is_null()) value = json.at(key).get<std::int64_t>();
}

}  // namespace

const std::vector<std::string>& mean_names() {
  static const std::vector<std::string> names = {"none", "image", "channel"};
  return names;
}

void add_list_options(CLI::App& app, DataOptions& options) {
  add_string(app, "--train-list", options.train_list,
             "Instead of a folder: a text file with a line 'path label' for each image", "FILE");
  add_string(app, "--val-list", options.val_list, "The same for validation", "FILE");
  add_string(app, "--root", options.root,
             "What the paths of lists are below; otherwise each list's own folder", "DIR");
}

void add_image_sources(CLI::App& app, DataOptions& options) {
  add_string(app, "--data", options.data,
             "A generator (shapes), an image folder (train/CLASS/*, val/CLASS/*) or a folder "
             "of IDX files (MNIST, Fashion-MNIST)",
             "NAME|DIR");
  add_list_options(app, options);
}

void add_decoding_options(CLI::App& app, DataOptions& options) {
  add_integer(app, "--decode-threads", options.decode_threads, 0, 4096,
              "Threads that read images; 0 means every core");
  add_flag(app, "--strict", options.strict,
           "Fail at the first image that cannot be read; otherwise it is named and skipped");
}

void add_data_options(CLI::App& app, DataOptions& options) {
  add_image_sources(app, options);
  add_integer(app, "--images", options.images, 10, kMany, "Training images of a generator");
  add_integer(app, "--classes", options.classes, 1, 1'000'000,
              "Classes of the model; otherwise as many as the data have");
  add_integer(app, "--insize", options.insize, 1, 65'536,
              "Height and width of what the model reads; otherwise the model's own");
  add_integer(app, "--resize", options.resize, 1, 65'536,
              "Image files are scaled to this height and width before they are cropped; otherwise "
              "256 for 224 and 227, and in proportion");
  add_choice(app, "--mean", options.mean, mean_names(), "mean",
             "What is subtracted from image files, of the training images");
  add_decoding_options(app, options);
}

void resolve(DataOptions& options) {
  if (options.has_lists() && options.data != DataOptions{}.data) {
    throw UsageError("--data and lists exclude each other: give one of them");
  }
  if (options.val_list.empty() && options.has_lists()) {
    throw UsageError("--train-list needs --val-list beside it");
  }
  if (!options.root.empty() && !options.has_lists()) {
    throw UsageError("--root is for --train-list and --val-list");
  }
  for (std::string* path : {&options.data, &options.train_list, &options.val_list, &options.root}) {
    make_absolute(*path);
  }
  if (options.decode_threads == 0) options.decode_threads = omp_get_num_procs();
}

void write_data_options(const DataOptions& options, Json& json) {
  json["data"] = options.data;
  json["images"] = options.images;
  json["test_images"] = options.test_images;
  json["train_list"] = options.train_list;
  json["val_list"] = options.val_list;
  json["root"] = options.root;
  json["classes"] = or_null(options.classes);
  json["insize"] = or_null(options.insize);
  json["resize"] = or_null(options.resize);
  json["mean"] = options.mean;
  json["decode_threads"] = options.decode_threads;
  json["strict"] = options.strict;
}

DataOptions read_data_options(const Json& json) {
  DataOptions options;
  json.at("data").get_to(options.data);
  json.at("images").get_to(options.images);
  json.at("test_images").get_to(options.test_images);
  read(json, "train_list", options.train_list);
  read(json, "val_list", options.val_list);
  read(json, "root", options.root);
  read(json, "classes", options.classes);
  read(json, "insize", options.insize);
  read(json, "resize", options.resize);
  read(json, "mean", options.mean);
  read(json, "decode_threads", options.decode_threads);
  read(json, "strict", options.strict);
  return options;
}

}  // namespace skyline
