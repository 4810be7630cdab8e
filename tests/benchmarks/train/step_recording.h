#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "tests/benchmarks/framework/observed_ops.h"
#include "tests/benchmarks/train/timed_training.h"

namespace skyline {

// One step as its ops ran, with the contents of what they read but did not write: parameters,
// optimizer state, the batch. Keys are addresses.
struct StepRecording {
  std::vector<ExecutedOp> ops;
  std::map<const std::byte*, std::vector<std::byte>> given;
};

// True when an operand lives outside of the step's own memory: resident, or uploaded.
bool is_given(const Operand& operand);

// Runs a step of `training` and records it.
StepRecording record_step(TimedTraining& training, const Batch& batch);

}  // namespace skyline
