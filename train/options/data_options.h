#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline {

class OptionList;

// Which images to read, and how. Each kind of data ignores the members that have no meaning for it.
struct DataOptions {
  std::string data = "shapes";      // a generator, an image folder or a folder of IDX files
  std::int64_t images = 8000;       // training images of a generator
  std::int64_t test_images = 2000;  // test images of a generator
  std::uint64_t seed = 0;
  std::string train_list, val_list, root;  // text lists instead of `data`; empty: none
  std::string class_names;  // text file for IDX files and lists; empty: known names, or numbers
  std::optional<std::int64_t> classes;  // unset: as many as the data has
  std::optional<std::int64_t> insize;   // unset: the model's own
  std::optional<std::int64_t> resize;   // unset: side_for(insize)
  std::string mean = "image";           // one of mean_names()
  std::int64_t decode_threads = 0;      // 0: all cores
  bool strict = false;                  // the first unreadable image ends the run

  bool has_lists() const { return !train_list.empty() || !val_list.empty(); }
};

// "none", "image", "channel": what to subtract from image files.
const std::vector<std::string>& mean_names();

// --train-list, --val-list and --root.
void add_list_options(OptionList& list, DataOptions& options);
// --data, and the lists that may replace it.
void add_image_sources(OptionList& list, DataOptions& options);
// --classes and --class-names.
void add_class_options(OptionList& list, DataOptions& options);
void add_decode_threads(OptionList& list, DataOptions& options);
// --decode-threads and --strict.
void add_decoding_options(OptionList& list, DataOptions& options);
// All of the above, and --images, --classes, --insize, --resize, --mean.
void add_data_options(OptionList& list, DataOptions& options);

// Returns `options` with absolute paths and the number of decoding threads filled in.
// Throws UsageError if a list comes with --data.
DataOptions resolved(DataOptions options);

}  // namespace skyline
