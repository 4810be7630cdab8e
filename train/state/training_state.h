#pragma once

#include <set>
#include <string>
#include <vector>

#include "train/checkpoints/checkpoint.h"
#include "train/run/model_run.h"

namespace skyline {

// Captures everything that the next step of a run depends on: parameters and running statistics as
// weights, velocities or moments as state, and the random stream in the position. The tensors are
// those of the run: save the result before its next step. The caller fills the rest of `position`.
Checkpoint capture(ModelRun& run, TrainingPosition position);

// Returns a network's parameters and running statistics as files hold them, after `steps` steps.
std::vector<StoredTensor> stored_weights(Context& context, const Network& network,
                                         std::int64_t steps);

// Puts a checkpoint's tensors and random stream into a run.
// Throws CheckpointError when a tensor is missing, left over or of another shape: the checkpoint is
// another model's; then the run may be half restored.
void restore(ModelRun& run, const Checkpoint& checkpoint);

// Puts a checkpoint's weights alone into a run in inference mode; tensors of `ignored` may
// be left over. Throws CheckpointError as restore() does.
void restore_weights(ModelRun& run, const Checkpoint& checkpoint,
                     const std::set<std::string>& ignored);

}  // namespace skyline
