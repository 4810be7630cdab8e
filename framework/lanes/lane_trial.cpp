#include "framework/lanes/lane_trial.h"

#include <algorithm>

namespace skyline {
namespace {

// Lanes keep more cores busy, and more of the rest of the program waits for one.
constexpr double kLeastSaving = 0.15;

double median_without_first(std::vector<double> seconds) {
  const auto middle = seconds.begin() + LaneTrial::kSteps / 2;
  std::nth_element(seconds.begin() + 1, middle, seconds.end());
  return *middle;
}

}  // namespace

void LaneTrial::add(double seconds) {
  (on_lanes() ? lanes_ : one_lane_).push_back(seconds);
  if (!decided()) return;
  pays_ = median_without_first(lanes_) < (1 - kLeastSaving) * median_without_first(one_lane_);
}

}  // namespace skyline
