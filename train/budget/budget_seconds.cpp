#include "train/budget/budget_seconds.h"

#include <map>
#include <stdexcept>
#include <string>

#include "framework/ops/math/arithmetic.h"
#include "train/budget/device_speed.h"

namespace skyline {
namespace {

bool is_sum(const StepOp& op) { return op.phase == Phase::kBackward && op.name == Sum::kName; }

double values_used(const StepOp& op) {
  return static_cast<double>(op.inputs.size() + op.outputs.size());
}

}  // namespace

StepSeconds step_seconds(const std::string& profile, const ProfileKey& key) {
  if (!profile.empty()) {
    const StepProfile measured = StepProfile::read(profile, key);
    return {[measured](const RecordedStep& step) { return measured.seconds(step); },
            "by the profile of " + profile};
  }
  const DeviceSpeed speed = assumed_speed(key.device);
  return {[speed](const RecordedStep& step) { return foreseen_seconds(step, speed); },
          speed.text()};
}

std::vector<double> early_sum_seconds(const RecordedStep& early, const RecordedStep& late,
                                      const std::vector<double>& late_seconds) {
  struct Sums {
    double seconds = 0, values = 0;
  };
  std::map<std::string, Sums> sums;  // by layer
  std::vector<std::size_t> others;   // late ops that are no sums
  for (std::size_t op = 0; op < late.graph.ops.size(); ++op) {
    const StepOp& late_op = late.graph.ops[op];
    if (!is_sum(late_op)) {
      others.push_back(op);
      continue;
    }
    sums[late_op.layer].seconds += late_seconds[op];
    sums[late_op.layer].values += values_used(late_op);
  }
  std::vector<double> seconds;
  std::size_t other = 0;
  for (const StepOp& op : early.graph.ops) {
    if (is_sum(op)) {
      const Sums& late_sums = sums.at(op.layer);
      seconds.push_back(late_sums.seconds / late_sums.values * values_used(op));
      continue;
    }
    if (other == others.size() || late.graph.ops[others[other]].name != op.name) {
      throw std::logic_error("early sums change other ops: " + op.name);
    }
    seconds.push_back(late_seconds[others[other++]]);
  }
  return seconds;
}

}  // namespace skyline
