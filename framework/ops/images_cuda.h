#pragma once

#include <cstdint>

#include "framework/ops/divider.h"
#include "framework/shape.h"

// Of CUDA sources only.

namespace skyline {

// Extents of images [N, C, H, W], which lie channels-last.
struct ImageExtents {
  explicit ImageExtents(const Shape& image)
      : channels(image[1]), pixels(image[2] * image[3]), columns(static_cast<int>(image[3])) {}

  // Of a pixel's first channel.
  __device__ std::int64_t offset(std::int64_t n, int row, int column) const {
    return (n * pixels + row * columns + column) * channels;
  }

  std::int64_t channels, pixels;
  int columns;
};

// Counts images' units of `width` channels, a thread each.
class PixelUnits {
 public:
  struct Place {
    std::int64_t n;
    int row, column;
    std::int64_t channel;
  };

  PixelUnits(const Shape& image, int width)
      : width_(width), rows_(image[2]), columns_(image[3]), units_per_pixel_(image[1] / width) {}

  __device__ Place operator()(std::int64_t index) const {
    const auto [pixel, unit] = units_per_pixel_(index);
    const auto [line, column] = columns_(pixel);
    const auto [n, row] = rows_(line);
    return {n, static_cast<int>(row), static_cast<int>(column), unit * width_};
  }

 private:
  int width_;
  Divider rows_, columns_, units_per_pixel_;
};

}  // namespace skyline
