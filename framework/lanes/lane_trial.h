#pragma once

#include <vector>

namespace skyline {

// Decides whether lanes are worth using: alternates steps with and without them, and keeps lanes
// that make a step 15 % shorter.
class LaneTrial {
 public:
  // On lanes, and as many on one lane. The first of each prepares kernels and does not count.
  static constexpr int kSteps = 6;

  // Returns whether the next step runs on lanes.
  bool on_lanes() const noexcept { return decided() ? pays_ : one_lane_.size() >= lanes_.size(); }
  bool decided() const noexcept { return one_lane_.size() == kSteps; }
  // Ends the next step; `seconds` may be divided by the step's known work.
  void add(double seconds);

 private:
  std::vector<double> lanes_, one_lane_;
  bool pays_ = true;
};

}  // namespace skyline
