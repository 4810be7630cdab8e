#pragma once

#include "data/dataset.h"
#include "data/host.h"

namespace skyline {

// The place where a training image is cut out, and whether it is mirrored.
struct RandomCrop {
  int top = 0, left = 0;
  bool mirrored = false;
};

// Returns a place from 0 to `room` on both axes, and mirrors with probability 1/2. All depends only
// on (random's seed, epoch, index).
RandomCrop random_crop(const RandomBits& random, const Sample& sample, int room);

}  // namespace skyline
