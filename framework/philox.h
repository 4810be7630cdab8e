#pragma once

#include <array>
#include <cstdint>

#include "framework/host_device.h"

namespace skyline {

// Multipliers, key increments and rounds of Philox4x32-10 (Salmon et al. 2011, table 2, section 3).
inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

SKYLINE_HOST_DEVICE inline void philox_round(std::uint32_t& x0, std::uint32_t& x1,
                                             std::uint32_t& x2, std::uint32_t& x3,
                                             std::uint32_t key0, std::uint32_t key1) noexcept {
  const std::uint64_t product0 = std::uint64_t{kPhiloxMultiplier0} * x0;
  const std::uint64_t product1 = std::uint64_t{kPhiloxMultiplier1} * x2;
  x0 = static_cast<std::uint32_t>(product1 >> 32) ^ x1 ^ key0;
  x1 = static_cast<std::uint32_t>(product1);
  x2 = static_cast<std::uint32_t>(product0 >> 32) ^ x3 ^ key1;
  x3 = static_cast<std::uint32_t>(product0);
}

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
// random words a counter, the same on every device and number of threads.
struct Philox {
  std::uint64_t seed = 0;

  // Returns the words of (stream, counter) under this seed.
  SKYLINE_HOST_DEVICE std::array<std::uint32_t, 4> operator()(
      std::uint64_t stream, std::uint64_t counter) const noexcept {
    auto x0 = static_cast<std::uint32_t>(counter), x1 = static_cast<std::uint32_t>(counter >> 32);
    auto x2 = static_cast<std::uint32_t>(stream), x3 = static_cast<std::uint32_t>(stream >> 32);
    auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      philox_round(x0, x1, x2, x3, key0, key1);
      key0 += kPhiloxWeyl0;
      key1 += kPhiloxWeyl1;
    }
    return {x0, x1, x2, x3};
  }
};

// Returns a number in [0, 1) with 24 random bits.
SKYLINE_HOST_DEVICE inline float uniform_float(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Returns two standard normal numbers from two words (Box and Muller).
std::array<float, 2> normal_pair(std::uint32_t first, std::uint32_t second) noexcept;

// A position in the random numbers of a run. Checkpoints save it.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t next = 0;   // the next unused stream number
  std::uint64_t batch = 0;  // of the running step; each has stream numbers of its own

  // Returns a stream number that nobody else gets, below 2^63 for up to 2^23 batches and 2^40
  // numbers of each.
  std::uint64_t take() noexcept { return batch << 40 | next++; }
};

}  // namespace skyline
