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

// Gives each block at least a byte: blocks without bytes follow no rule.
inline Trace with_bytes(Trace trace) {
  for (TraceBlock& block : trace.blocks) block.bytes = std::max<std::uint64_t>(block.bytes, 1);
  return trace;
}

// Gives each block that has no fixed offset an alignment of its own: powers of two, or any numbers.
inline Trace with_alignments(Trace trace, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::uint64_t number =
        seed % 2 == 0 ? std::uint64_t{1} << random() % 5 : 1 + random() % 9;
    trace.alignments.push_back(trace.fixed_offset(i) ? 1 : number);
  }
  return trace;
}

}  // namespace skyline
