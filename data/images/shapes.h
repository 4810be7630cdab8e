#pragma once

#include "data/dataset.h"
#include "data/images/normalisation.h"
#include "data/random.h"

namespace skyline {

struct ShapesOptions {
  std::size_t size = 10'000;  // images
  int channels = 3;           // 3 for colour, 1 for grey
  int height = 32;            // at least kSmallestShapesImage
  int width = 32;
};
inline constexpr int kSmallestShapesImage = 16;
inline constexpr Normalisation kShapesNormalisation{.mean = 0.5, .deviation = 0.25};

// Drawn images that need no download. Each shows one anti-aliased shape of random size, place,
// colour and rotation (as far as rotation keeps the class) over a background that fades between two
// colours, with noise on every pixel. Ten classes: disc, ring, square, frame, triangle, plus,
// cross, star, crescent, bars. The shape is lighter or darker than its background with equal
// probability, so no weighted sum of pixels separates the classes. Image `index` depends only on
// (random's seed, split, index) and the image's shape. Labels are balanced: label = index mod 10.
// Values in [0, 1] are normalised as kShapesNormalisation says: (x − 0.5) / 0.25. Every read()
// draws the image again.
class ShapesDataset : public Dataset {
 public:
  // Throws DataError when an option is out of range.
  ShapesDataset(const ShapesOptions& options, Split split, RandomBits random);

  const std::string& name() const noexcept override;
  std::size_t size() const noexcept override { return options_.size; }
  ImageShape image_shape() const noexcept override {
    return {options_.channels, options_.height, options_.width};
  }
  const std::vector<std::string>& class_names() const noexcept override;
  void read(const Sample& sample, float* image, std::int32_t* label) const override;

 private:
  ShapesOptions options_;
  DataStream stream_;
  RandomBits random_;
};

}  // namespace skyline
