#pragma once

#include <cstdint>

#include "data/host.h"
#include "framework/philox.h"

namespace skyline {

// Philox with a seed, as the function that data sets and loaders take.
inline RandomBits random_bits(std::uint64_t seed) {
  return [philox = Philox{seed}](std::uint64_t stream, std::uint64_t counter) {
    return philox(stream, counter);
  };
}

}  // namespace skyline
