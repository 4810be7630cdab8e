#include "train/optimizers/learning_rate.h"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace skyline {

double LearningRate::at(std::int64_t step) const {
  const double done =
      total_steps > 0 ? static_cast<double>(step) / static_cast<double>(total_steps) : 0.0;
  if (schedule == "constant") return base;
  if (schedule == "cosine") return base * (1.0 + std::cos(std::numbers::pi * done)) / 2.0;
  if (schedule == "step") return base * (done < 0.5 ? 1.0 : done < 0.75 ? 0.1 : 0.01);
  throw std::invalid_argument("unknown learning-rate schedule '" + schedule + "'");
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"constant", "cosine", "step"};
  return names;
}

}  // namespace skyline
