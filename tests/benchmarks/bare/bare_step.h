#pragma once

#include <vector>

#include "tests/benchmarks/bare/bare_primitives.h"

namespace skyline {

// The ops of a recorded step as bare oneDNN primitives, in the same order, over the same addresses,
// with nothing around them: no tensors, no requests, no graph. Uploads are left out. Made once, run
// many times. The numbers that it computes mean nothing; they stay finite.
class BareStep {
 public:
  // Refers to the recording, whose arm must live on. Throws std::invalid_argument for an op that it
  // does not know.
  BareStep(const StepRecording& recording, BareWeights weights);

  // One step; returns its seconds.
  double run();
  // Of each op in the last run, in the order of the recording.
  const std::vector<double>& seconds() const noexcept { return seconds_; }

 private:
  BareMemory memory_;
  std::vector<std::vector<BareCall>> ops_;
  std::vector<double> seconds_;
};

}  // namespace skyline
