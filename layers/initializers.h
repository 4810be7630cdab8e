#pragma once

#include <cstdint>
#include <vector>

#include "framework/philox.h"

namespace skyline {

// Draws the first values of a weight of `elements` elements, each output of which sums `fan_in`
// inputs. Takes one stream number: the values depend on the seed and the order of layers alone.
using Initializer = std::vector<float> (*)(RandomStream& random, std::int64_t elements,
                                           std::int64_t fan_in);

// Normal with standard deviation sqrt(1 / fan_in) (LeCun et al. 1998, "Efficient BackProp",
// section 4.6).
std::vector<float> lecun_normal(RandomStream& random, std::int64_t elements, std::int64_t fan_in);

// Normal with standard deviation sqrt(2 / fan_in), for layers under a relu (He et al. 2015,
// "Delving deep into rectifiers", equation 10).
std::vector<float> he_normal(RandomStream& random, std::int64_t elements, std::int64_t fan_in);

}  // namespace skyline
