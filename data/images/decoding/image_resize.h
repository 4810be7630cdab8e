#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline {

// A square of a resized image: rows [top, top + size), columns [left, left + size).
struct CropWindow {
  int top = 0;
  int left = 0;
  int size = 0;
};

// Scales an image of `width` × `height` × 3 bytes to side × side, whatever its proportions, and
// writes a window of the result: size × size × 3 floats, 0 to 255, not rounded. Only the window is
// computed; a pixel's value does not depend on the window.
// Uses a triangle filter as wide as a pixel of the smaller image: bilinear when enlarging,
// antialiased when shrinking. With width = height = side it copies the pixels.
void resize(const std::uint8_t* pixels, int width, int height, int side, const CropWindow& window,
            float* out);

// Scales the whole image to new_height × new_width × 3 floats by the same filter.
void scale(const std::uint8_t* pixels, int width, int height, int new_width, int new_height,
           float* out);

// One axis of resize(): the input positions that each output position adds up, and their weights,
// which sum to 1.
class ResizeAxis {
 public:
  // Outputs [begin, begin + count) of an axis of `in` positions scaled to `out`.
  ResizeAxis(int in, int out, int begin, int count);

  struct Taps {
    int first;  // input position
    int count;
    const float* weights;
  };
  // `index` counts from `begin`.
  Taps operator[](int index) const {
    const Range& range = ranges_[static_cast<std::size_t>(index)];
    return {range.first, range.count, weights_.data() + range.offset};
  }
  int count() const noexcept { return static_cast<int>(ranges_.size()); }
  int first_input() const noexcept { return ranges_.front().first; }
  int last_input() const noexcept { return ranges_.back().first + ranges_.back().count - 1; }

 private:
  struct Range {
    int first;
    int count;
    std::size_t offset;  // of its first weight
  };
  std::vector<Range> ranges_;
  std::vector<float> weights_;
};

}  // namespace skyline
