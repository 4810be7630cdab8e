#include "train/options/data_options.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>

#include "train/cli/option_list.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostDataImages = 10'000'000;  // their order takes 80 MB
constexpr std::int64_t kMostModelClasses = 1'000'000;
constexpr std::int64_t kMostPixels = 65'536;  // height and width
constexpr double kLeastShare = 0.001;
constexpr double kLeastDeviation = 0.001;

}  // namespace

const std::vector<std::string>& mean_names() {
  static const std::vector<std::string> names = {"none", "image", "channel", "imagenet"};
  return names;
}

std::array<double, 3> colour_numbers(const std::string& text, double least) {
  const std::vector<std::string> parts = split_at_commas(text);
  std::array<double, 3> numbers{};
  bool good = parts.size() == numbers.size();
  for (std::size_t i = 0; good && i < numbers.size(); ++i) {
    const char* const end = parts[i].data() + parts[i].size();
    const auto [stopped, error] = std::from_chars(parts[i].data(), end, numbers[i]);
    good = stopped == end && error == std::errc() && numbers[i] >= least && numbers[i] <= 1;
  }
  if (good) return numbers;
  throw UsageError(fmt::format(
      "'{}' is not three numbers R,G,B from {} to 1, for levels from 0 to 1 as torchvision has "
      "them",
      text, least));
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
           "A generator (shapes), an image folder (train/CLASS/*, val/CLASS/*; CLASS/* with "
           "--val-split), or a folder of IDX files (MNIST, Fashion-MNIST, EMNIST) or of CIFAR's "
           "binary files");
  add_list_options(list, options);
  list.add("--val-split", number(options.val_split, kLeastShare, 1 - kLeastShare),
           "Share of each class's training images to validate on, where no folder is for that: 0.1",
           kImagesOnly | kMayBeAbsent)
      .excludes("--val-list");
}

void add_class_options(OptionList& list, DataOptions& options) {
  list.add("--classes", integer(options.classes, 1, kMostModelClasses),
           "Number of classes; labels must be smaller (default: as many as the data has)",
           kImagesOnly | kMayBeAbsent);
  list.add("--class-names", text(options.class_names, "FILE"),
           "Names of the classes of IDX files or lists, one per line (default: names that are "
           "known or stand in the lists, or numbers)",
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
  list.add("--images", integer(options.images, 10, kMostDataImages), "Training images to generate",
           kImagesOnly);
  list.add("--test-images", integer(options.test_images, 1, kMostDataImages), "",
           kImagesOnly | kStoredOnly);
  add_class_options(list, options);
  list.add("--insize", integer(options.insize, 1, kMostPixels),
           "Height and width of the model's input (default: the model's own)",
           kImagesOnly | kMayBeAbsent);
  list.add("--resize", integer(options.resize, 1, kMostPixels),
           "Scale image files to this height and width before cropping (default: 256 for inputs of "
           "224 and 227, else in proportion)",
           kImagesOnly | kMayBeAbsent);
  OptionValue mean = checked(text(options.mean, "NAME|R,G,B"), [&options] {
    if (std::ranges::find(mean_names(), options.mean) != mean_names().end()) return;
    if (options.mean.find(',') == std::string::npos) {
      throw UsageError(unknown_name("mean", options.mean, mean_names()) + "; or three numbers");
    }
    colour_numbers(options.mean, 0);
  });
  mean.choices = mean_names();
  list.add("--mean", std::move(mean),
           "What to subtract from image files: the mean of the training images, torchvision's "
           "constants (and their deviation), or numbers for levels from 0 to 1",
           kImagesOnly | kMayBeAbsent);
  OptionValue deviation = checked(text(options.deviation, "R,G,B"), [&options] {
    if (!options.deviation.empty()) colour_numbers(options.deviation, kLeastDeviation);
  });
  list.add("--deviation", std::move(deviation),
           "What to divide image files by after that (default: 1, or torchvision's constants)",
           kImagesOnly | kMayBeAbsent);
  list.add("--no-mirror", negated_flag(options.mirror),
           "Never mirror training images: for letters, arrows, hands", kImagesOnly | kMayBeAbsent);
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
