#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace skyline {

// Which images, and how they come to the network. Values without a meaning for a kind of data are
// left alone there.
struct DataOptions {
  std::string data = "shapes";      // a generator's name, an image folder or a folder of IDX files
  std::int64_t images = 8000;       // of a generator
  std::int64_t test_images = 2000;  // of a generator
  std::uint64_t seed = 0;
  // Text lists of images, instead of `data`; empty: none.
  std::string train_list, val_list, root;
  std::optional<std::int64_t> classes;  // unset: as many as the data have
  std::optional<std::int64_t> insize;   // unset: the model's own
  std::optional<std::int64_t> resize;   // unset: side_for(insize)
  std::string mean = "image";           // one of mean_names()
  std::int64_t decode_threads = 0;      // 0: every core
  bool strict = false;                  // the first image that cannot be read ends the run

  bool has_lists() const { return !train_list.empty() || !val_list.empty(); }
};

// "none", "image", "channel": what is subtracted from images of files.
const std::vector<std::string>& mean_names();

// --train-list, --val-list and --root.
void add_list_options(CLI::App& app, DataOptions& options);
// --data and the lists that may stand in its place.
void add_image_sources(CLI::App& app, DataOptions& options);
// --decode-threads and --strict.
void add_decoding_options(CLI::App& app, DataOptions& options);
// All of the above, and what decides images: --images, --classes, --insize, --resize, --mean.
void add_data_options(CLI::App& app, DataOptions& options);

// Paths by their whole names, so that a run can be taken up from anywhere; as many threads as the
// process may use cores. Throws UsageError when a list lacks its partner or stands beside --data.
void resolve(DataOptions& options);

// The values under the names of their flags, without the seed.
void write_data_options(const DataOptions& options, nlohmann::ordered_json& json);
// Values that are missing, as in runs of before, keep their defaults. Throws nlohmann's exceptions.
DataOptions read_data_options(const nlohmann::ordered_json& json);

}  // namespace skyline
