#include "train/images/trained_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "data/host.h"
#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kClasses = "classes";
constexpr const char* kInput = "input";
constexpr const char* kNormalisation = "normalisation";
constexpr const char* kImages = "images";  // numbers of training and test images
constexpr const char* kFiles = "files";

// Returns a class name as a checkpoint stores it, in UTF-8, between quotes.
std::string stored_text(const std::string& name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Names and labels decide what a batch holds. Returns nothing for data other than image files.
std::optional<std::string> files_sha256(const ImageData& data) {
  if (data.collection == nullptr) return {};
  Sha256 sha256;
  for (const ImageFiles* split : {&data.collection->train, &data.collection->test}) {
    for (const ImageFiles::File& file : split->files) {
      const std::string line = fmt::format("{} {}\n", file.path, file.label);
      sha256.update(std::as_bytes(std::span(line)));
    }
  }
  return sha256.hex();
}

void check_classes(const ImageData& data, const TrainedData& trained, bool compare_names) {
  if (trained.class_names.empty()) return;
  const std::vector<std::string>& here = data.test->class_names();
  if (here.size() != trained.class_names.size()) {
    throw DataError(data.test->name(), "number of classes", std::to_string(here.size()),
                    std::to_string(trained.class_names.size()) + ", as in training");
  }
  for (std::size_t label = 0; compare_names && label < here.size(); ++label) {
    const std::string name = stored_text(here[label]);
    if (name == stored_text(trained.class_names[label])) continue;
    throw DataError(data.test->name(), "class " + std::to_string(label), name,
                    stored_text(trained.class_names[label]) + ", as in training");
  }
}

void check_images(const ImageData& data, const TrainedData& trained) {
  const auto require = [](const Dataset& split, const char* what, const auto& got,
                          const auto& expected) {
    if (!expected || *expected == got) return;
    throw DataError(split.name(), what, fmt::format("{}", got),
                    fmt::format("{}, as in training", *expected));
  };
  const auto text = [](const ImageShape& shape) {
    return fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width);
  };
  std::optional<std::string> input;
  if (trained.input) input = text(*trained.input);
  require(*data.test, "channels, height and width", text(data.test->image_shape()), input);
  require(*data.train, "training images", data.train->size(), trained.train_images);
  require(*data.test, "test images", data.test->size(), trained.test_images);
  if (const auto files = files_sha256(data)) {
    require(*data.train, "SHA-256 of the images' names and labels", *files, trained.files);
  }
}

}  // namespace

void store_data(const ImageData& data, TrainingPosition& position) {
  Json& more = *position.more;
  more[kClasses] = data.test->class_names();
  const ImageShape shape = data.test->image_shape();
  more[kInput] = {shape.channels, shape.height, shape.width};
  more[kImages] = {data.train->size(), data.test->size()};
  if (const auto files = files_sha256(data)) more[kFiles] = *files;
  if (!data.normalisation) return;
  more[kNormalisation] = {{"mean", data.normalisation->mean},
                          {"deviation", data.normalisation->deviation}};
}

TrainedData trained_data(const TrainingPosition& position) {
  const Json& more = *position.more;
  TrainedData data;
  try {
    if (more.contains(kClasses)) {
      data.class_names = more[kClasses].get<std::vector<std::string>>();
    }
    if (more.contains(kInput)) {
      const Json& input = more[kInput];
      data.input = ImageShape{input.at(0), input.at(1), input.at(2)};
    }
    if (more.contains(kNormalisation)) {
      const Json& stored = more[kNormalisation];
      data.normalisation = Normalisation{stored.at("mean"), stored.at("deviation")};
    }
    if (more.contains(kImages)) {
      data.train_images = more[kImages].at(0).get<std::size_t>();
      data.test_images = more[kImages].at(1).get<std::size_t>();
    }
    if (more.contains(kFiles)) data.files = more[kFiles].get<std::string>();
  } catch (const Json::exception& error) {
    throw CheckpointError(
        std::string("the checkpoint's facts about its training data are damaged: ") + error.what());
  }
  return data;
}

void check_data(const ImageData& data, const TrainedData& trained, DataMatch match) {
  check_classes(data, trained, match != DataMatch::kClassNumber);
  if (match == DataMatch::kAll) check_images(data, trained);
}

}  // namespace skyline
