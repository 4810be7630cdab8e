#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "data/random.h"

namespace skyline {

class ImageDataset;

// What is subtracted from every image: side × side × 3 values, 0 to 255.
struct MeanImage {
  int side = 0;
  std::vector<float> values;
};

// More training images change the mean by less than a grey level (a pixel's deviation is about 70:
// 70 / √10,000), and cost minutes.
inline constexpr std::size_t kMostMeanImages = 10'000;

struct MeanOptions {
  std::size_t threads = 1;
  std::size_t most_images = kMostMeanImages;
  std::function<void(std::size_t done, std::size_t images)> progress;  // on the caller's thread
};

// The mean of a data set's resized images: of all of them, or of the first `most_images` in an
// order that depends on random's seed alone. Images that cannot be read are left out (and are
// known as bad to the data set from then on). The same bits for any number of threads: sums are
// whole numbers of 1/256. Throws DataError when no image can be read.
MeanImage mean_image(const ImageDataset& dataset, const RandomBits& random,
                     const MeanOptions& options);

// Every pixel the mean of its channel over a mean image.
MeanImage channel_mean(const MeanImage& image);

}  // namespace skyline
