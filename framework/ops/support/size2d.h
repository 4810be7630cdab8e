#pragma once

#include <string>

namespace skyline {

// Two extents, one for each axis of an image. One number stands for both: `.stride = 2`.
struct Size2d {
  int height = 0;
  int width = 0;

  constexpr Size2d() = default;
  constexpr Size2d(int both) : height(both), width(both) {}  // implicit on purpose
  constexpr Size2d(int height_, int width_) : height(height_), width(width_) {}

  constexpr int area() const noexcept { return height * width; }
  std::string str() const { return std::to_string(height) + "x" + std::to_string(width); }
  constexpr bool operator==(const Size2d&) const = default;
};

}  // namespace skyline
