#pragma once

#include <cstdint>

#include "data/random.h"

namespace skyline {

// Philox under a seed, in the form that the data room takes.
RandomBits random_bits(std::uint64_t seed);

}  // namespace skyline
