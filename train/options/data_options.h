#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline {

class OptionList;

// Which images to read, and how. Each kind of data ignores the members that have no meaning for it.
struct DataOptions {
  std::string data = "shapes";      // a generator, or a folder of images, IDX or CIFAR's files
  std::int64_t images = 8000;       // training images of a generator
  std::int64_t test_images = 2000;  // test images of a generator
  std::uint64_t seed = 0;
  std::string train_list, val_list, root;  // text lists instead of `data`; empty: none
  std::string class_names;  // text file for IDX files and lists; empty: known names, or numbers
  std::optional<std::int64_t> classes;  // unset: as many as the data has
  std::optional<std::int64_t> insize;   // unset: the model's own
  std::optional<std::int64_t> resize;   // unset: side_for(insize)
  std::optional<double> val_split;      // share of training images to validate on
  std::string mean = "image";           // one of mean_names(), or three numbers "R,G,B"
  std::string deviation;                // three numbers; empty: imagenet's with that mean, else 1
  bool mirror = true;                   // training images, at random
  std::int64_t decode_threads = 0;      // 0: all cores
  bool strict = false;                  // the first unreadable image ends the run

  bool has_lists() const { return !train_list.empty() || !val_list.empty(); }
  // The mean is that of the training images.
  bool has_mean_image() const { return mean == "image" || mean == "channel"; }
};

// "none", "image", "channel", "imagenet": what to subtract from image files.
const std::vector<std::string>& mean_names();

// Reads numbers from `least` to 1 for red, green and blue: "0.485,0.456,0.406". Throws UsageError.
std::array<double, 3> colour_numbers(const std::string& text, double least);

// --train-list, --val-list and --root.
void add_list_options(OptionList& list, DataOptions& options);
// --data, the lists that may replace it, and --val-split.
void add_image_sources(OptionList& list, DataOptions& options);
// --classes and --class-names.
void add_class_options(OptionList& list, DataOptions& options);
void add_decode_threads(OptionList& list, DataOptions& options);
// --decode-threads and --strict.
void add_decoding_options(OptionList& list, DataOptions& options);
// All of the above, --images, --insize and how image files become inputs.
void add_data_options(OptionList& list, DataOptions& options);

// Returns `options` with absolute paths and the number of decoding threads filled in.
// Throws UsageError if a list comes with --data.
DataOptions resolved(DataOptions options);

}  // namespace skyline
