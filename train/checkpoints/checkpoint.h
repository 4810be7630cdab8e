#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/checkpoints/safetensors.h"

namespace skyline {

// Where a run stands between two steps: everything besides tensors that the next step depends on.
struct TrainingPosition {
  std::int64_t step = 0;               // steps done
  std::int64_t epoch = 0;              // epochs done
  std::int64_t batch = 0;              // batches done in the running epoch
  std::uint64_t order_seed = 0;        // of the order of samples
  std::uint64_t random_seed = 0;       // RandomStream::seed
  std::uint64_t random_next = 0;       // RandomStream::next
  std::map<std::string, double> best;  // best metrics so far; infinities become NaN
  nlohmann::ordered_json more = nlohmann::ordered_json::object();  // the trainer's own: sums, …
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  bool operator==(const TrainingPosition&) const = default;
};

struct Checkpoint {
  std::vector<NamedTensor> weights;  // what inference needs: parameters and running statistics
  std::vector<NamedTensor> state;    // what only training needs: momentum and the like
  TrainingPosition position;
};

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path path;         // the folder it came from
  std::vector<std::string> warnings;  // one for each damaged checkpoint passed over
};

// No checkpoint could be loaded; the sentence names the folder and what is wrong with it.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The checkpoints of one run:
//
//   checkpoints/step-000000123/weights.safetensors   weights alone: other tools read it
//                              state.safetensors     training state; position as JSON metadata
//                              SHA256SUMS            of both (sha256sum -c reads it)
//   checkpoints/latest → step-000000123
//
// A checkpoint is written into step-….tmp, synced, renamed, and only then named by `latest`, so
// that a process killed at any moment leaves the last one whole. Thread rule: one writer.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder, int keep = 2);

  // Saves; afterwards removes all but the last `keep`, and any other of this or a later step (a run
  // that was taken up again from an earlier one has left those behind). Returns the new folder.
  // Throws WriteError; what was saved before stays.
  std::filesystem::path save(const Checkpoint& checkpoint);

 private:
  std::filesystem::path folder_;
  int keep_;
};

// The folder of the run that a checkpoint belongs to.
std::filesystem::path run_folder_of(const LoadedCheckpoint& loaded);

// Loads the last good checkpoint of `path`, which may be a run folder, its checkpoints folder or
// one checkpoint (no falling back then). A damaged one is passed over with a warning.
// Throws CheckpointError, and UsageError when `path` is no folder.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace skyline
