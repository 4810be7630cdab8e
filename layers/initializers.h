#pragma once

#include <cstdint>
#include <vector>

#include "framework/philox.h"

namespace skyline {

// Draws the initial values of a weight of `elements` elements; each of its outputs sums `fan_in`
// inputs. Takes one stream number, so the values depend only on the seed and the order of layers.
using Initializer = std::vector<float> (*)(RandomStream& random, std::int64_t elements,
                                           std::int64_t fan_in);

// Normal with standard deviation sqrt(1 / fan_in) (LeCun et al. 1998, "Efficient BackProp",
// section 4.6).
std::vector<float> lecun_normal(RandomStream& random, std::int64_t elements, std::int64_t fan_in);

// Normal with standard deviation sqrt(2 / fan_in), for layers followed by a relu (He et al. 2015,
// "Delving deep into rectifiers", equation 10).
std::vector<float> he_normal(RandomStream& random, std::int64_t elements, std::int64_t fan_in);

}  // namespace skyline
