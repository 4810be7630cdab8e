#pragma once

#include <algorithm>
#include <string>

#include "tests/models/paper_networks.h"
#include "tests/train/images/small_training.h"

// Training steps of the paper's networks on small images: tenths of a second.
namespace skyline::testing {

// Images of the smallest size that a network takes, of 32 x 32 at least.
inline ModelShape step_shape(const PaperNetwork& network) {
  return with_images(network.name, std::max(32, network.smallest_image));
}

}  // namespace skyline::testing
