#include "train/budget/budget_seconds.h"

#include "train/budget/device_speed.h"

namespace skyline {

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

}  // namespace skyline
