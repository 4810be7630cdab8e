#pragma once

#include <algorithm>
#include <string>

#include "tests/models/paper_networks.h"
#include "tests/train/images/small_training.h"

// Training steps of the paper's networks on small images; each takes tenths of a second.
namespace skyline::tests {

// Returns the shape with the smallest images that a network takes, but at least 32 x 32.
inline ModelShape step_shape(const PaperNetwork& network) {
  return with_images(network.name, std::max(32, network.smallest_image));
}

}  // namespace skyline::tests
