#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/checkpoints/safetensors.h"
#include "train/checkpoints/training_position.h"

namespace skyline {

// The tensors are read where they lie, when they are read: in a run that is saved, in the files of
// a loaded checkpoint.
struct Checkpoint {
  std::vector<StoredTensor> weights;  // for inference: parameters and running statistics
  std::vector<StoredTensor> state;    // for training only: momentum and the like
  TrainingPosition position;
};

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path path;         // the folder that it was read from
  std::vector<std::string> warnings;  // one for each damaged checkpoint that was skipped
};

// No checkpoint could be loaded. The message names the folder and the problem.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The checkpoints of one run:
//
//   checkpoints/step-000000123/weights.safetensors   weights only; other tools can read it
//                              state.safetensors     training state; position as JSON metadata
//                              SHA256SUMS            of both files, for sha256sum -c
//   checkpoints/latest → step-000000123
//
// A checkpoint is written into step-….tmp, synced and renamed; only then does `latest` point to it.
// A process killed at any moment thus leaves the last checkpoint whole. Thread rule: one writer.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder, int keep = 2);

  // Saves a checkpoint and returns its folder. Afterwards removes all but the last `keep`, and any
  // other of the same or a later step, which remain when a run resumes from an earlier checkpoint,
  // and what killed processes left: step-….tmp and latest.tmp. Other names in the folder stay.
  // Throws WriteError, and CheckpointError if a tensor is not finite, so that a run that diverged
  // can go on from an earlier checkpoint; earlier checkpoints stay.
  std::filesystem::path save(const Checkpoint& checkpoint);

 private:
  std::filesystem::path folder_;
  int keep_;
};

// Returns the folder of the run that a checkpoint belongs to.
std::filesystem::path run_folder_of(const LoadedCheckpoint& loaded);

// Loads the last good checkpoint of `path`: a run folder, its checkpoints folder, or one checkpoint
// (then there is no fallback). Checkpoints that are damaged, hold a value that is not finite or a
// position that cannot be are skipped with a warning.
// Throws CheckpointError, and UsageError when `path` is not a folder.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace skyline
