#pragma once

#include "data/host.h"

namespace skyline {

// Random words for this room's tests, from the finalizer of splitmix64 (Steele, Lea, Flood 2014).
inline RandomBits test_random(std::uint64_t seed) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  return [=](std::uint64_t stream, std::uint64_t counter) -> std::array<std::uint32_t, 4> {
    const std::uint64_t key = mix(mix(seed + 0x9e3779b97f4a7c15) + stream);
    const std::uint64_t first = mix(key + 2 * counter), second = mix(key + 2 * counter + 1);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first >> 32),
            static_cast<std::uint32_t>(second), static_cast<std::uint32_t>(second >> 32)};
  };
}

}  // namespace skyline
