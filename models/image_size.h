#pragma once

#include <string>

#include "models/model.h"

namespace skyline {

// An image too small for a network: "[lenet] image, got 11 x 28, expected at least 12 x 12".
class ImageSizeError : public ShapeError {
 public:
  using ShapeError::ShapeError;
};

// Returns `shape`. Throws ImageSizeError unless its images have at least `smallest` x `smallest`
// pixels.
inline const ModelShape& require_image(const std::string& model, const ModelShape& shape,
                                       int smallest) {
  const auto text = [](int height, int width) {
    return std::to_string(height) + " x " + std::to_string(width);
  };
  if (shape.height >= smallest && shape.width >= smallest) return shape;
  throw ImageSizeError(model, "image", text(shape.height, shape.width),
                       "at least " + text(smallest, smallest));
}

}  // namespace skyline
