#include "data/images/augmentation.h"

namespace skyline {
namespace {

// Maps a random word to [0, bound): the upper half of their product.
int below(int bound, std::uint32_t word) {
  return static_cast<int>(std::uint64_t{word} * static_cast<std::uint64_t>(bound) >> 32);
}

}  // namespace

RandomCrop random_crop(const RandomBits& random, const Sample& sample, int room) {
  const auto words = random(static_cast<std::uint64_t>(DataStream::kCrop),
                            sample.epoch << 32 | static_cast<std::uint64_t>(sample.index));
  return {.top = below(room + 1, words[0]),
          .left = below(room + 1, words[1]),
          .mirrored = (words[2] & 1) != 0};
}

}  // namespace skyline
