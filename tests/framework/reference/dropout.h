#pragma once

#include <array>
#include <cstdint>

#include "framework/philox.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// True if dropout keeps the element at `position` in memory. In blocks of 128 elements, 32 counters
// give one word each to four runs of 32 elements; an element is kept if its word is at least rate *
// 2^32.
inline bool dropout_keeps(std::uint64_t seed, std::uint64_t stream, float rate,
                          std::int64_t position) {
  const std::int64_t block = position / 128, run = position % 128 / 32, lane = position % 32;
  const std::array<std::uint32_t, 4> words =
      Philox{seed}(stream, static_cast<std::uint64_t>(block * 32 + lane));
  return static_cast<double>(words[static_cast<std::size_t>(run)]) >= double{rate} * 0x1p32;
}

inline HostTensor dropout(const HostTensor& x, std::uint64_t seed, std::uint64_t stream,
                          float rate) {
  HostTensor y(x.shape);
  std::int64_t position = 0;
  for (const std::int64_t i : memory_order(x.shape)) {
    if (dropout_keeps(seed, stream, rate, position++)) y[i] = x[i] / (1 - double{rate});
  }
  return y;
}

}  // namespace skyline::reference
