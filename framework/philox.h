#pragma once

#include <array>
#include <cstdint>

namespace skyline {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
// random words for each counter, the same on every device and thread count. Marked so that nvcc can
// compile it for the device as it is.
struct Philox {
  std::uint64_t seed = 0;

  // The words of (stream, counter) under this seed.
  std::array<std::uint32_t, 4> operator()(std::uint64_t stream,
                                          std::uint64_t counter) const noexcept;
};

// [0, 1) with 24 random bits.
inline float uniform_float(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Two standard normal numbers from two words (Box and Muller).
std::array<float, 2> normal_pair(std::uint32_t first, std::uint32_t second) noexcept;

// A position in the random numbers of a run. Saved in checkpoints as it is.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t next = 0;  // the next unused stream number

  // A stream number that nobody else gets.
  std::uint64_t take() noexcept { return next++; }
};

}  // namespace skyline
