#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/budget/step_profile.h"

namespace skyline {

// How long each op of a recorded step takes, and where that is from: "by a model: 150 GFLOP/s,
// 10 GB/s", "by the profile of runs/lenet".
struct StepSeconds {
  std::function<std::vector<double>(const RecordedStep&)> of;
  std::string source;
};

// Takes the seconds from a profile, which must be that of `key`, or without one (empty) from a
// model of the device. Throws UsageError.
StepSeconds step_seconds(const std::string& profile, const ProfileKey& key);

}  // namespace skyline
