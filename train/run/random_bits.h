#pragma once

#include <cstdint>

#include "data/host.h"

namespace skyline {

// Philox with a seed, as the function that data sets and loaders take.
RandomBits random_bits(std::uint64_t seed);

}  // namespace skyline
