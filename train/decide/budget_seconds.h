#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/decide/step_profile.h"

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

// Returns the seconds of the ops of a step that sums gradients early, from those of the same step
// with late sums: a sum takes as long for each value that it reads or writes as the late ones of
// its layer. Ops of both steps are in the program's sequence.
std::vector<double> early_sum_seconds(const RecordedStep& early, const RecordedStep& late,
                                      const std::vector<double>& late_seconds);

}  // namespace skyline
