#pragma once

#include <algorithm>
#include <string>

#include "tests/models/paper_networks.h"
#include "tests/train/images/small_training.h"

// Training steps of the paper's networks on small images; each takes tenths of a second.
namespace skyline::tests {

// Returns the shape with the smallest images that a network takes, but at least 32 x 32.
// mobilenet_v2 gets 64 x 64: otherwise its last layers have one pixel an image, the variance of two
// such pixels may be 0, and dividing by it layer after layer overflows.
inline ModelShape step_shape(const PaperNetwork& network) {
  const int least = network.name == "mobilenet_v2" ? 64 : 32;
  return with_images(network.name, std::max(least, network.smallest_image));
}

}  // namespace skyline::tests
