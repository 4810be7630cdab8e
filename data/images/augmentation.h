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
inline RandomCrop random_crop(const RandomBits& random, const Sample& sample, int room) {
  const auto words = random(static_cast<std::uint64_t>(DataStream::kCrop),
                            sample.epoch << 32 | static_cast<std::uint64_t>(sample.index));
  // Maps a random word to [0, room]: the upper half of their product.
  const auto place = [places = static_cast<std::uint64_t>(room) + 1](std::uint32_t word) {
    return static_cast<int>(word * places >> 32);
  };
  return {.top = place(words[0]), .left = place(words[1]), .mirrored = (words[2] & 1) != 0};
}

}  // namespace skyline
