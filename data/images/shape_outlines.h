#pragma once

#include <array>

namespace skyline {

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
