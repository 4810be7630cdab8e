#pragma once

#include <string>

#include "models/model.h"

namespace skyline {

// The shape itself. Throws ShapeError unless its images have `smallest` x `smallest` pixels at
// least: "[lenet] image, got 11 x 28, expected at least 12 x 12".
inline const ModelShape& require_image(const std::string& model, const ModelShape& shape,
                                       int smallest) {
  const auto text = [](int height, int width) {
    return std::to_string(height) + " x " + std::to_string(width);
  };
  if (shape.height >= smallest && shape.width >= smallest) return shape;
  throw ShapeError(model, "image", text(shape.height, shape.width),
                   "at least " + text(smallest, smallest));
}

}  // namespace skyline
