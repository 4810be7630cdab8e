#pragma once

#include <cstdint>

namespace skyline {

// Random numbers (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"). Any
// seed will do; each stream of a seed is an independent sequence.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mixed(mixed(seed) + stream * kGamma)) {}

  std::uint64_t next() { return mixed(state_ += kGamma); }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Nearly uniform in [0, count), with a bias of count / 2^32. `count` is in [1, 2^32].
  std::uint64_t below(std::uint64_t count) { return ((next() >> 32) * count) >> 32; }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;

  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

}  // namespace skyline
