#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "memory/trace.h"

namespace skyline {

// Most blocks are short-lived and small, some long-lived or large, anywhere in the step: lifetimes
// are spread evenly over the orders of magnitude up to a tenth of `blocks`. At least 10 blocks.
inline Trace mixed_trace(std::size_t blocks) {
  std::mt19937_64 random(1);
  const auto ticks = static_cast<Tick>(2 * blocks);
  const double longest = std::log(static_cast<double>(blocks) / 10);
  Trace trace;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto lower = static_cast<Tick>(random() % static_cast<std::uint64_t>(ticks));
    const double exponent = static_cast<double>(random() % 1000) / 1000 * longest;
    const Tick upper = std::min(ticks + 1, lower + 1 + static_cast<Tick>(std::exp(exponent)));
    const std::uint64_t largest = random() % 64 == 0 ? 1 << 26 : 1 << 16;
    trace.blocks.push_back({lower, upper, 1 + random() % largest});
  }
  return trace;
}

}  // namespace skyline
