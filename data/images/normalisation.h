#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "data/host.h"

// How the levels of images become numbers around 0.

namespace skyline {

// How the levels of one channel become a network's input: (level / 255 − mean) / deviation, in
// single precision.
struct Normalisation {
  double mean = 0;       // of levels in [0, 1]
  double deviation = 1;  // standard deviation of the same levels

  // Returns the normalised value of a level from 0 to 255.
  float operator()(float level) const noexcept {
    return (level / 255.0f - static_cast<float>(mean)) / static_cast<float>(deviation);
  }
  bool operator==(const Normalisation&) const = default;
};

// Those of red, green and blue. A grey image has the first.
using Normalisations = std::array<Normalisation, 3>;

// The figures of ImageNet's training images that torchvision's networks were trained with.
inline constexpr Normalisations kImageNetNormalisation = {
    {{0.485, 0.229}, {0.456, 0.224}, {0.406, 0.225}}};

class ImageDataset;

// The image that is subtracted from every image: side × side × 3 values, 0 to 255.
struct MeanImage {
  int side = 0;
  std::vector<float> values;
  std::size_t images = 0;  // that it is the mean of; unknown, 0, if it was read from a file
};

// More training images would cost minutes and change the mean by less than one grey level: a
// pixel's standard deviation is about 70, and 70 / √10,000 = 0.7.
inline constexpr std::size_t kMostMeanImages = 10'000;

struct MeanOptions {
  std::size_t threads = 1;
  std::size_t most_images = kMostMeanImages;
  std::function<void(std::size_t done, std::size_t images)> progress;  // on the caller's thread
};

// Returns the mean of a data set's resized images: of all images, or of the first `most_images` in
// an order that depends only on random's seed. Unreadable images are skipped and recorded as bad by
// the data set. Sums are whole numbers of 1/256, so the bits are the same for any number of
// threads. Throws DataError when no image can be read.
MeanImage mean_image(const ImageDataset& dataset, const RandomBits& random,
                     const MeanOptions& options);

// Replaces every pixel of a mean image by the mean of its channel.
MeanImage channel_mean(const MeanImage& image);

}  // namespace skyline
