#pragma once

#include <cstdint>
#include <random>

#include "memory/trace.h"

namespace skyline {

// `blocks` blocks of 0 to `largest` bytes anywhere in `ticks` ticks (at least 1).
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

// Like a training step: activations stack up and die in reverse, each op with a workspace.
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
