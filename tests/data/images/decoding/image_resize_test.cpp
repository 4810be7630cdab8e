#include "data/images/decoding/image_resize.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace skyline {
namespace {

using Pixels = std::vector<std::uint8_t>;

// Three channels per pixel: value, value + 1, value + 2.
Pixels three_channels(const std::vector<int>& values) {
  Pixels pixels;
  for (const int value : values) {
    for (int channel = 0; channel < 3; ++channel) {
      pixels.push_back(static_cast<std::uint8_t>(value + channel));
    }
  }
  return pixels;
}

std::vector<float> resized(const Pixels& pixels, int width, int height, int side,
                           const CropWindow& window) {
  std::vector<float> out(static_cast<std::size_t>(window.size * window.size * 3));
  resize(pixels.data(), width, height, side, window, out.data());
  return out;
}

std::vector<float> resized(const Pixels& pixels, int width, int height, int side) {
  return resized(pixels, width, height, side, {.size = side});
}

Pixels random_pixels(int width, int height) {
  std::mt19937 random(7);
  Pixels pixels(static_cast<std::size_t>(width * height * 3));
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random());
  return pixels;
}

TEST(ImageResize, CopiesAtTheSameSize) {
  const Pixels pixels = random_pixels(5, 5);
  EXPECT_EQ(resized(pixels, 5, 5, 5), std::vector<float>(pixels.begin(), pixels.end()));
}

// At half the size, the filter reaches two pixels to each side of an output pixel's middle, so the
// weights are 3/7, 3/7, 1/7 at one border and 1/7, 3/7, 3/7 at the other.
TEST(ImageResize, ShrinksByTheTriangleFilter) {
  const Pixels pixels = three_channels({10, 20, 30, 40, 10, 20, 30, 40});  // two rows of four
  const std::vector<float> out = resized(pixels, 4, 2, 2);
  const float left = (3 * 10.0f + 3 * 20 + 30) / 7, right = (20 + 3 * 30.0f + 3 * 40) / 7;
  for (int row = 0; row < 2; ++row) {
    for (int channel = 0; channel < 3; ++channel) {
      const auto at = static_cast<std::size_t>(row * 6 + channel);
      EXPECT_NEAR(out[at], left + static_cast<float>(channel), 1e-4f);
      EXPECT_NEAR(out[at + 3], right + static_cast<float>(channel), 1e-4f);
    }
  }
}

// At twice the size, output middles lie at 1/4, 3/4, 5/4, 7/4 and input middles at 1/2 and 3/2.
TEST(ImageResize, EnlargesBilinearly) {
  const std::vector<float> out = resized(three_channels({0, 100, 0, 100}), 2, 2, 4);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_FLOAT_EQ(out[row * 12 + 0], 0);
    EXPECT_FLOAT_EQ(out[row * 12 + 3], 25);
    EXPECT_FLOAT_EQ(out[row * 12 + 6], 75);
    EXPECT_FLOAT_EQ(out[row * 12 + 9], 100);
  }
}

TEST(ImageResize, SpreadsOnePixel) {
  EXPECT_EQ(resized({10, 200, 30}, 1, 1, 2),
            (std::vector<float>{10, 200, 30, 10, 200, 30, 10, 200, 30, 10, 200, 30}));
}

TEST(ImageResize, WeightsSumToOneAndStayInside) {
  for (const int in : {1, 2, 3, 7, 64, 1000}) {
    for (const int out : {1, 2, 3, 7, 64, 256}) {
      const ResizeAxis axis(in, out, 0, out);
      for (int i = 0; i < out; ++i) {
        const ResizeAxis::Taps taps = axis[i];
        ASSERT_GE(taps.first, 0);
        ASSERT_GE(taps.count, 1);
        ASSERT_LE(taps.first + taps.count, in);
        EXPECT_NEAR(std::accumulate(taps.weights, taps.weights + taps.count, 0.0), 1, 1e-5);
      }
    }
  }
}

TEST(ImageResize, AWindowHasTheWholeImagesValues) {
  for (const auto& [width, height] : {std::pair{31, 17}, std::pair{5, 90}, std::pair{1, 1}}) {
    const Pixels pixels = random_pixels(width, height);
    const std::vector<float> whole = resized(pixels, width, height, 20);
    const CropWindow window{.top = 3, .left = 7, .size = 12};
    const std::vector<float> part = resized(pixels, width, height, 20, window);
    for (std::size_t y = 0; y < 12; ++y) {
      for (std::size_t i = 0; i < 36; ++i) {
        ASSERT_EQ(part[y * 36 + i], whole[(y + 3) * 60 + 7 * 3 + i]) << width << " x " << height;
      }
    }
  }
}

}  // namespace
}  // namespace skyline
