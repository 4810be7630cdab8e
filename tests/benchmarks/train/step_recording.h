#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "tests/benchmarks/framework/observed_ops.h"
#include "tests/benchmarks/train/timed_training.h"

namespace skyline {

// One step: its ops in the order they ran, and the contents, by address, of everything they read
// before writing it: parameters, optimizer state, the batch.
struct StepRecording {
  std::vector<ExecutedOp> ops;
  std::map<const std::byte*, std::vector<std::byte>> given;
};

// True if an operand lives outside the step's own memory: it is resident or uploaded.
bool is_given(const Operand& operand);

// Runs and records one step of `training`.
StepRecording record_step(TimedTraining& training, const Batch& batch);

}  // namespace skyline
