#include "framework/philox.h"

#include <cmath>
#include <numbers>

namespace skyline {

std::array<float, 2> normal_pair(std::uint32_t first, std::uint32_t second) noexcept {
  const float radius = std::sqrt(-2.0f * std::log(1.0f - uniform_float(first)));
  const float angle = 2.0f * std::numbers::pi_v<float> * uniform_float(second);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace skyline
