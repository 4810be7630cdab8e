#include "data/images/decoding/image_resize.h"

#include <algorithm>
#include <cmath>

namespace skyline {
namespace {

constexpr int kPixelChannels = 3;

// Writes the weighted sum of input rows to `row`, which begins at input column `first`.
void add_rows(const std::uint8_t* pixels, int width, const ResizeAxis::Taps& taps, int first,
              std::vector<float>& row) {
  std::fill(row.begin(), row.end(), 0.0f);
  for (int tap = 0; tap < taps.count; ++tap) {
    const std::size_t start =
        (static_cast<std::size_t>(taps.first + tap) * static_cast<std::size_t>(width) +
         static_cast<std::size_t>(first)) *
        kPixelChannels;
    const std::uint8_t* in = pixels + start;
    const float weight = taps.weights[tap];
    float* sum = row.data();
    const std::size_t count = row.size();
    for (std::size_t i = 0; i < count; ++i) sum[i] += weight * static_cast<float>(in[i]);
  }
}

// Writes the weighted sum of pixels of a row that begins at input column `first`.
void add_columns(const std::vector<float>& row, const ResizeAxis::Taps& taps, int first,
                 float* out) {
  const float* in = row.data() + static_cast<std::ptrdiff_t>(taps.first - first) * kPixelChannels;
  float red = 0, green = 0, blue = 0;
  for (int tap = 0; tap < taps.count; ++tap, in += kPixelChannels) {
    red += taps.weights[tap] * in[0];
    green += taps.weights[tap] * in[1];
    blue += taps.weights[tap] * in[2];
  }
  out[0] = red;
  out[1] = green;
  out[2] = blue;
}

void add_all(const std::uint8_t* pixels, int width, const ResizeAxis& rows,
             const ResizeAxis& columns, float* out) {
  const int first = columns.first_input();
  std::vector<float> row(static_cast<std::size_t>(columns.last_input() - first + 1) *
                         kPixelChannels);
  for (int y = 0; y < rows.count(); ++y) {
    add_rows(pixels, width, rows[y], first, row);
    for (int x = 0; x < columns.count(); ++x, out += kPixelChannels) {
      add_columns(row, columns[x], first, out);
    }
  }
}

}  // namespace

ResizeAxis::ResizeAxis(int in, int out, int begin, int count) {
  const double scale = static_cast<double>(in) / out;
  const double reach = std::max(scale, 1.0);  // half the filter's width
  for (int index = begin; index < begin + count; ++index) {
    const double centre = (index + 0.5) * scale;
    const int low = std::max(0, static_cast<int>(std::floor(centre - reach)));
    const int high = std::min(in - 1, static_cast<int>(std::ceil(centre + reach)));
    Range range{.first = low, .count = 0, .offset = weights_.size()};
    double sum = 0;
    for (int i = low; i <= high; ++i) {
      const double weight = 1 - std::abs(i + 0.5 - centre) / reach;
      if (weight <= 0) {
        if (range.count == 0) range.first = i + 1;
        continue;
      }
      weights_.push_back(static_cast<float>(weight));
      sum += weight;
      ++range.count;
    }
    for (std::size_t i = range.offset; i < weights_.size(); ++i) {
      weights_[i] = static_cast<float>(weights_[i] / sum);
    }
    ranges_.push_back(range);
  }
}

void resize(const std::uint8_t* pixels, int width, int height, int side, const CropWindow& window,
            float* out) {
  add_all(pixels, width, ResizeAxis(height, side, window.top, window.size),
          ResizeAxis(width, side, window.left, window.size), out);
}

void scale(const std::uint8_t* pixels, int width, int height, int new_width, int new_height,
           float* out) {
  add_all(pixels, width, ResizeAxis(height, new_height, 0, new_height),
          ResizeAxis(width, new_width, 0, new_width), out);
}

}  // namespace skyline
