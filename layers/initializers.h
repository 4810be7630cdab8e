#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "framework/philox.h"

namespace skyline {

// The initial values of one weight, which can be drawn in pieces: value i is number i mod 4 of the
// four at counter i / 4 of a stream, times `deviation`.
struct InitialValues {
  Philox philox;
  std::uint64_t stream = 0;
  float deviation = 1;

  // Draws the values from `first` on, a multiple of 4.
  void draw(std::uint64_t first, std::span<float> values) const;
};

// Returns the initial values of a weight whose outputs each sum `fan_in` inputs. Takes one stream
// number, so the values depend only on the seed and the order of layers.
using Initializer = std::function<InitialValues(RandomStream& random, std::int64_t fan_in)>;

// Normal with standard deviation sqrt(1 / fan_in) (LeCun et al. 1998, "Efficient BackProp",
// section 4.6).
InitialValues lecun_normal(RandomStream& random, std::int64_t fan_in);

// Normal with standard deviation sqrt(2 / fan_in), for layers followed by a relu (He et al. 2015,
// "Delving deep into rectifiers", equation 10).
InitialValues he_normal(RandomStream& random, std::int64_t fan_in);

// Normal with this standard deviation, whatever the inputs.
Initializer normal_of(double deviation);

}  // namespace skyline
