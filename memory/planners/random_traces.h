#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

#include "memory/trace.h"

namespace skyline {

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

// `blocks` blocks that live for at most half of the ticks (at least 2). Simple rules seldom pack
// them well.
inline Trace short_lived_trace(std::uint64_t seed, std::size_t blocks, Tick ticks,
                               std::uint64_t largest) {
  std::mt19937_64 random(seed);
  const auto below = [&random](Tick n) {
    return static_cast<Tick>(random() % static_cast<std::uint64_t>(n));
  };
  Trace trace;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Tick lower = below(ticks);
    const Tick upper = std::min(ticks, lower + 1 + below(ticks / 2));
    trace.blocks.push_back({lower, upper, 1 + random() % largest});
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

// Resembles a training step: activations stack up and die in reverse, each op with a workspace.
inline Trace training_trace(std::uint64_t seed, std::size_t layers, std::uint64_t largest) {
  std::mt19937_64 random(seed);
  Trace trace;
  Tick tick = 0;
  const auto request = [&] {
    trace.blocks.push_back({tick++, 0, 1 + random() % largest});
    return trace.size() - 1;
  };
  const auto release = [&](std::size_t block) { trace.blocks[block].upper = tick++; };
  std::vector<std::size_t> activations;
  for (std::size_t i = 0; i < layers; ++i) {
    activations.push_back(request());
    release(request());  // workspace
  }
  std::size_t gradient = request();
  for (; !activations.empty(); activations.pop_back()) {
    const std::size_t next = request();
    release(request());
    release(gradient);
    release(activations.back());
    gradient = next;
  }
  release(gradient);
  return trace;
}

}  // namespace skyline
