#pragma once

#include <vector>

#include "tests/benchmarks/bare/bare_primitives.h"

namespace skyline {

// The ops of a recorded step as bare oneDNN primitives, in the same order and over the same
// addresses, with nothing around them: no tensors, no requests, no graph. Uploads are left out.
// Made once, run many times. The computed numbers mean nothing, but stay finite.
class BareStep {
 public:
  // Refers to the recording, so its training must stay alive. Throws std::invalid_argument for an
  // unknown op.
  BareStep(const StepRecording& recording, BareWeights weights);

  // Runs one step; returns its seconds.
  double run();
  // Seconds of each op in the last run, in the order of the recording.
  const std::vector<double>& seconds() const noexcept { return seconds_; }

 private:
  BareMemory memory_;
  std::vector<std::vector<BareCall>> ops_;
  std::vector<double> seconds_;
};

}  // namespace skyline
