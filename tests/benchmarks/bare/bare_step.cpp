#include "tests/benchmarks/bare/bare_step.h"

#include <chrono>

namespace skyline {

BareStep::BareStep(const StepRecording& recording, BareWeights weights)
    : memory_(recording), seconds_(recording.ops.size()) {
  for (const ExecutedOp& op : recording.ops) ops_.push_back(bare_calls(op, memory_, weights));
}

double BareStep::run() {
  using Clock = std::chrono::steady_clock;
  const auto seconds_between = [](Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
  };
  const auto start = Clock::now();
  auto before = start;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    for (const BareCall& call : ops_[i]) call();
    const auto after = Clock::now();
    seconds_[i] = seconds_between(before, after);
    before = after;
  }
  return seconds_between(start, before);
}

}  // namespace skyline
