#pragma once

namespace skyline {

// How the grey or colour levels of an image become a network's input:
// (level / 255 − mean) / deviation, in single precision.
struct Normalisation {
  double mean = 0;       // of levels in [0, 1]
  double deviation = 1;  // standard deviation of the same levels

  // Returns the normalised value of a level from 0 to 255.
  float operator()(float level) const noexcept {
    return (level / 255.0f - static_cast<float>(mean)) / static_cast<float>(deviation);
  }
  bool operator==(const Normalisation&) const = default;
};

}  // namespace skyline
