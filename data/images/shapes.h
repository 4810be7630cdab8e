#pragma once

#include <array>

#include "data/dataset.h"
#include "data/host.h"
#include "data/images/normalisation.h"

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

// One class of drawn shapes. `distance(x, y, thickness)` is negative inside and positive outside,
// and near the outline it is close to the distance from it. The shape fits the unit disc; x points
// right and y points down.
struct ShapeOutline {
  const char* name;
  float (*distance)(float x, float y, float thickness);
  float least_angle, most_angle;  // radians; rotations within this range keep the class
};

// In the order of ShapesDataset's labels.
inline constexpr int kShapeCount = 10;
extern const std::array<ShapeOutline, kShapeCount> kShapeOutlines;

// The range of `thickness`: half the width of a ring's or frame's stroke or of a plus's or bar's
// arm.
inline constexpr float kLeastThickness = 0.13f, kMostThickness = 0.19f;

}  // namespace skyline
