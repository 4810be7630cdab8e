#include "framework/philox.h"

#include <cmath>
#include <numbers>

namespace skyline {

std::array<std::uint32_t, 4> Philox::operator()(std::uint64_t stream,
                                                std::uint64_t counter) const noexcept {
  // Multipliers and key increments as in Salmon et al. 2011, table 2 and section 3.
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  std::array<std::uint32_t, 4> x = {
      static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * x[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * x[2];
    x = {static_cast<std::uint32_t>(product1 >> 32) ^ x[1] ^ key0,
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ x[3] ^ key1,
         static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

std::array<float, 2> normal_pair(std::uint32_t first, std::uint32_t second) noexcept {
  const float radius = std::sqrt(-2.0f * std::log(1.0f - uniform_float(first)));
  const float angle = 2.0f * std::numbers::pi_v<float> * uniform_float(second);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace skyline
