#pragma once

#include <array>

namespace skyline {

// One class of drawn shapes. `distance(x, y, thickness)` is negative inside, positive outside and,
// near the outline, close to the distance to it; the shape fits the unit disc. Coordinates are
// right and down.
struct ShapeOutline {
  const char* name;
  float (*distance)(float x, float y, float thickness);
  float least_angle, most_angle;  // radians: rotations that keep the class
};

// In the order of the labels of ShapesDataset.
inline constexpr int kShapeCount = 10;
extern const std::array<ShapeOutline, kShapeCount> kShapeOutlines;

// The range of `thickness`: half the width of a ring's or frame's stroke, a plus's or bar's arm.
inline constexpr float kLeastThickness = 0.13f, kMostThickness = 0.19f;

}  // namespace skyline
