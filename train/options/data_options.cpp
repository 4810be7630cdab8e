#include "train/options/data_options.h"

#include <omp.h>

#include "train/cli/option_list.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostImages = 10'000'000;  // their order takes 80 MB
constexpr std::int64_t kMostClasses = 1'000'000;
constexpr std::int64_t kMostPixels = 65'536;  // height and width

}  // namespace

const std::vector<std::string>& mean_names() {
  static const std::vector<std::string> names = {"none", "image", "channel"};
  return names;
}

void add_list_options(OptionList& list, DataOptions& options) {
  list.add("--train-list", text(options.train_list, "FILE"),
           "Training images: a text file with a line 'path label' per image, instead of a folder",
           kImagesOnly | kMayBeAbsent)
      .needs({"--val-list"});
  list.add("--val-list", text(options.val_list, "FILE"), "The same for validation images",
           kImagesOnly | kMayBeAbsent);
  list.add("--root", text(options.root, "DIR"),
           "Folder of the lists' paths (default: each list's own folder)",
           kImagesOnly | kMayBeAbsent)
      .needs({"--train-list", "--val-list"});
}

void add_image_sources(OptionList& list, DataOptions& options) {
  list.add("--data", text(options.data, "NAME|DIR"),
           "A generator (shapes), an image folder (train/CLASS/*, val/CLASS/*) or a folder of IDX "
           "files (MNIST, Fashion-MNIST)");
  add_list_options(list, options);
}

void add_class_options(OptionList& list, DataOptions& options) {
  list.add("--classes", integer(options.classes, 1, kMostClasses),
           "Number of classes; labels must be smaller (default: as many as the data has)",
           kImagesOnly | kMayBeAbsent);
  list.add("--class-names", text(options.class_names, "FILE"),
           "Names of the classes of IDX files or lists, one per line (default: names that are "
           "known, or numbers)",
           kImagesOnly | kMayBeAbsent);
}

void add_decode_threads(OptionList& list, DataOptions& options) {
  list.add("--workers,--decode-threads", integer(options.decode_threads, 0, kMostThreads),
           "Threads that read images (0: all cores)", kImagesOnly | kNeutral | kMayBeAbsent);
}

void add_decoding_options(OptionList& list, DataOptions& options) {
  add_decode_threads(list, options);
  list.add("--strict", flag(options.strict),
           "Fail at the first unreadable image (default: name it and skip it)",
           kImagesOnly | kNeutral | kMayBeAbsent);
}

void add_data_options(OptionList& list, DataOptions& options) {
  add_image_sources(list, options);
  list.add("--images", integer(options.images, 10, kMostImages), "Training images to generate",
           kImagesOnly);
  list.add("--test-images", integer(options.test_images, 1, kMostImages), "",
           kImagesOnly | kStoredOnly);
  add_class_options(list, options);
  list.add("--insize", integer(options.insize, 1, kMostPixels),
           "Height and width of the model's input (default: the model's own)",
           kImagesOnly | kMayBeAbsent);
  list.add("--resize", integer(options.resize, 1, kMostPixels),
           "Scale image files to this height and width before cropping (default: 256 for inputs of "
           "224 and 227, else in proportion)",
           kImagesOnly | kMayBeAbsent);
  list.add("--mean", choice(options.mean, mean_names(), "mean"),
           "Mean of the training images to subtract from image files", kImagesOnly | kMayBeAbsent);
  add_decoding_options(list, options);
}

DataOptions resolved(DataOptions options) {
  if (options.has_lists() && options.data != DataOptions{}.data) {
    throw UsageError("--data and lists exclude each other: give one of them");
  }
  for (std::string* path : {&options.data, &options.train_list, &options.val_list, &options.root,
                            &options.class_names}) {
    make_absolute(*path);
  }
  if (options.decode_threads == 0) options.decode_threads = omp_get_num_procs();
  return options;
}

}  // namespace skyline
