#include "framework/lanes/lane_trial.h"

#include <algorithm>

namespace skyline {
namespace {

double median_without_first(std::vector<double> seconds) {
  const auto middle = seconds.begin() + LaneTrial::kSteps / 2;
  std::nth_element(seconds.begin() + 1, middle, seconds.end());
  return *middle;
}

}  // namespace

void LaneTrial::add(double seconds) {
  (on_lanes() ? lanes_ : one_lane_).push_back(seconds);
  if (decided()) pays_ = median_without_first(lanes_) < median_without_first(one_lane_);
}

}  // namespace skyline
