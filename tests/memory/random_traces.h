#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "memory/random_inputs.h"

namespace skyline {

// The first seed of tests that draw many graphs.
inline constexpr std::uint64_t kGraphSeed = 2026;

// `blocks` blocks of 0 to `largest` bytes, anywhere in `ticks` ticks (at least 1).
inline Trace random_trace(std::uint64_t seed, std::size_t blocks, Tick ticks,
                          std::uint64_t largest) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  Trace trace;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto lower = static_cast<Tick>(below(static_cast<std::uint64_t>(ticks)));
    const auto length = static_cast<Tick>(1 + below(static_cast<std::uint64_t>(ticks - lower)));
    trace.blocks.push_back({lower, lower + length, below(largest + 1)});
  }
  return trace;
}

// Gives half of the blocks that live for two ticks or more a gap, which may fill the lifetime.
inline Trace with_gaps(Trace trace, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    const auto ticks = static_cast<std::uint64_t>(block.upper - block.lower);
    if (ticks < 2 || random() % 2 == 0) continue;
    const Tick lower = block.lower + static_cast<Tick>(random() % ticks);
    const auto left = static_cast<std::uint64_t>(block.upper - lower);
    trace.gaps.push_back({i, lower, lower + 1 + static_cast<Tick>(random() % left)});
  }
  return trace;
}

// Fixes a third of the blocks at offsets that a plan could have: a stack of all blocks, with some
// room.
inline Trace with_fixed_offsets(Trace trace, std::uint64_t seed, std::uint64_t alignment) {
  std::mt19937_64 random(seed);
  std::uint64_t top = 0;
  for (const TraceBlock& block : trace.blocks) {
    top += alignment * (random() % 3);
    const bool fixed = random() % 3 == 0;
    trace.fixed_offsets.push_back(fixed ? std::optional(top) : std::nullopt);
    if (fixed) top += align_checked(block.bytes, alignment);
  }
  return trace;
}

}  // namespace skyline
