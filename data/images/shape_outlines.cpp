#include "data/images/shape_outlines.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyline {
namespace {

constexpr float kHalfTurn = std::numbers::pi_v<float>;
constexpr float kTilt = 0.2f;  // a cross is a plus turned by 45 degrees; this keeps them apart

float disc(float x, float y, float) { return std::sqrt(x * x + y * y) - 1.0f; }

float ring(float x, float y, float thickness) {
  return std::abs(std::sqrt(x * x + y * y) - (1.0f - thickness)) - thickness;
}

float square(float x, float y, float) { return std::max(std::abs(x), std::abs(y)) - 0.75f; }

float frame(float x, float y, float thickness) {
  return std::abs(std::max(std::abs(x), std::abs(y)) - (0.75f - thickness)) - thickness;
}

// Equilateral with its corners on the unit circle: three half-planes at distance 1/2.
float triangle(float x, float y, float) {
  constexpr float kSine60 = 0.8660254f;
  return std::max(kSine60 * std::abs(x) - 0.5f * y, y) - 0.5f;
}

float plus(float x, float y, float thickness) {
  const float across = std::max(std::abs(x), std::abs(y));
  const float along = std::min(std::abs(x), std::abs(y));
  return std::max(across - 0.95f, along - 1.2f * thickness);
}

// Five points on the unit circle. Mirroring maps them to one tenth, where the outline is one line.
float star(float x, float y, float) {
  constexpr float kTenth = kHalfTurn / 5, kInnerRadius = 0.45f;
  constexpr float kCosine = 0.80901699f, kSine = 0.58778525f;  // of kTenth
  const float radius = std::sqrt(x * x + y * y);
  const float angle = std::abs(std::remainder(std::atan2(x, -y), 2 * kTenth));
  const float along = radius * std::cos(angle), aside = radius * std::sin(angle);
  // The line from the tip (1, 0) to the notch at (cosine, sine) · inner radius; its normal points
  // out.
  const float dx = kInnerRadius * kCosine - 1.0f, dy = kInnerRadius * kSine;
  return ((along - 1.0f) * dy - aside * dx) / std::sqrt(dx * dx + dy * dy);
}

float crescent(float x, float y, float) {
  const float bite_x = x - 0.5f;
  return std::max(std::sqrt(x * x + y * y) - 1.0f, 0.8f - std::sqrt(bite_x * bite_x + y * y));
}

// Three parallel bars.
float bars(float x, float y, float thickness) {
  const float pitch = 0.6f;
  const float nearest = std::clamp(std::round(y / pitch), -1.0f, 1.0f);
  return std::max(std::abs(x) - 0.7f, std::abs(y - nearest * pitch) - thickness);
}

}  // namespace

const std::array<ShapeOutline, kShapeCount> kShapeOutlines = {{
    {"disc", disc, 0, 0},
    {"ring", ring, 0, 0},
    {"square", square, -kHalfTurn, kHalfTurn},
    {"frame", frame, -kHalfTurn, kHalfTurn},
    {"triangle", triangle, -kHalfTurn, kHalfTurn},
    {"plus", plus, -kTilt, kTilt},
    {"cross", plus, kHalfTurn / 4 - kTilt, kHalfTurn / 4 + kTilt},
    {"star", star, -kHalfTurn, kHalfTurn},
    {"crescent", crescent, -kHalfTurn, kHalfTurn},
    {"bars", bars, -kHalfTurn, kHalfTurn},
}};

}  // namespace skyline
