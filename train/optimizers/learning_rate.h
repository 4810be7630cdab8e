#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skyline {

// Learning rate schedules over a run of `total_steps`:
//   constant  base
//   cosine    base * (1 + cos(pi * step / total_steps)) / 2   (Loshchilov and Hutter 2017, eq. 5)
//   step      base, a tenth of it from half of the run on, a hundredth from three quarters on
//             (He et al. 2016, section 4.2)
struct LearningRate {
  double base = 0.05;
  std::string schedule = "cosine";
  std::int64_t total_steps = 0;

  // Returns the rate of step `step`, counted from 0. Throws std::invalid_argument for an unknown
  // schedule.
  double at(std::int64_t step) const;
};

// The names above.
const std::vector<std::string>& schedule_names();

}  // namespace skyline
