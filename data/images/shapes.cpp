#include "data/images/shapes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

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

constexpr int kLargestImage = 1024;
// Counters per image: more than 3 · 1024² / 16 for noise and a few for the scene.
constexpr int kCounterBits = 20;
constexpr std::uint64_t kFirstNoiseCounter = 16;
constexpr auto kMean = static_cast<float>(kShapesNormalisation.mean);
constexpr auto kDeviation = static_cast<float>(kShapesNormalisation.deviation);

using Colour = std::array<float, 3>;

// The random numbers of one image, one after another.
class Draws {
 public:
  Draws(const RandomBits& random, DataStream stream, std::uint64_t first_counter)
      : random_(random), stream_(static_cast<std::uint64_t>(stream)), counter_(first_counter) {}

  std::uint32_t word() {
    if (used_ == words_.size()) {
      words_ = random_(stream_, counter_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  float between(float low, float high) {
    return low + (high - low) * (static_cast<float>(word() >> 8) * 0x1p-24f);
  }

 private:
  const RandomBits& random_;
  std::uint64_t stream_;
  std::uint64_t counter_;
  std::array<std::uint32_t, 4> words_{};
  std::size_t used_ = words_.size();
};

// The shape that an image shows. Lengths are in pixels, colours in [0, 1].
struct Scene {
  float radius, centre_x, centre_y;
  float cosine, sine;  // of the shape's rotation
  float thickness;
  float noise;                // the largest change of a value
  float fade_x, fade_y;       // the direction in which the background fades
  Colour background, change;  // colour in the middle; change from there to the far edge
  Colour shape;
};

// Returns a value that is clearly lighter or darker than `background`.
float contrasting(float background, Draws& draws) {
  const float contrast = draws.between(0.2f, 0.55f);
  const bool lighter = (draws.word() & 1) != 0;
  const float wanted = background + (lighter ? contrast : -contrast);
  return wanted < 0 || wanted > 1 ? background - (wanted - background) : wanted;
}

Scene draw_scene(const ShapeOutline& outline, ImageShape image, Draws& draws) {
  Scene scene{};
  const float side = static_cast<float>(std::min(image.height, image.width));
  scene.radius = side * draws.between(0.24f, 0.44f);
  // Shapes are never cut off, so a larger one has less room to move.
  const float room_x = static_cast<float>(image.width) / 2 - scene.radius;
  const float room_y = static_cast<float>(image.height) / 2 - scene.radius;
  scene.centre_x = static_cast<float>(image.width) / 2 + room_x * draws.between(-1, 1);
  scene.centre_y = static_cast<float>(image.height) / 2 + room_y * draws.between(-1, 1);
  const float angle = draws.between(outline.least_angle, outline.most_angle);
  scene.cosine = std::cos(angle);
  scene.sine = std::sin(angle);
  scene.thickness = draws.between(kLeastThickness, kMostThickness);
  scene.noise = draws.between(0.02f, 0.14f);
  const float fade = draws.between(-std::numbers::pi_v<float>, std::numbers::pi_v<float>);
  scene.fade_x = std::cos(fade) / static_cast<float>(image.width);
  scene.fade_y = std::sin(fade) / static_cast<float>(image.height);
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(image.channels); ++channel) {
    scene.background[channel] = draws.between(0.2f, 0.8f);
    scene.change[channel] = draws.between(-0.2f, 0.2f);
    scene.shape[channel] = contrasting(scene.background[channel], draws);
  }
  return scene;
}

// Writes values in [0, 1] before noise; the background fades along one direction.
void draw_background(const Scene& scene, ImageShape image, float* values) {
  const std::size_t channels = static_cast<std::size_t>(image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const float position =
          scene.fade_x * (2.0f * static_cast<float>(x) - static_cast<float>(image.width)) +
          scene.fade_y * (2.0f * static_cast<float>(y) - static_cast<float>(image.height));
      for (std::size_t channel = 0; channel < channels; ++channel) {
        *values++ = scene.background[channel] + scene.change[channel] * position;
      }
    }
  }
}

// Blends the shape into each pixel by the share of the pixel that it covers.
void draw_shape(const ShapeOutline& outline, const Scene& scene, ImageShape image, float* values) {
  const int first_x = std::max(0, static_cast<int>(scene.centre_x - scene.radius - 1));
  const int last_x = std::min(image.width, static_cast<int>(scene.centre_x + scene.radius + 2));
  const int first_y = std::max(0, static_cast<int>(scene.centre_y - scene.radius - 1));
  const int last_y = std::min(image.height, static_cast<int>(scene.centre_y + scene.radius + 2));
  for (int y = first_y; y < last_y; ++y) {
    float* pixel = values + (y * image.width + first_x) * image.channels;
    for (int x = first_x; x < last_x; ++x, pixel += image.channels) {
      const float right = (static_cast<float>(x) + 0.5f - scene.centre_x) / scene.radius;
      const float down = (static_cast<float>(y) + 0.5f - scene.centre_y) / scene.radius;
      const float distance =
          outline.distance(right * scene.cosine + down * scene.sine,
                           down * scene.cosine - right * scene.sine, scene.thickness);
      const float share = std::clamp(0.5f - distance * scene.radius, 0.0f, 1.0f);
      for (int channel = 0; channel < image.channels; ++channel) {
        pixel[channel] += share * (scene.shape[static_cast<std::size_t>(channel)] - pixel[channel]);
      }
    }
  }
}

// Adds noise, clamps to [0, 1] and normalises. Four values share one random word.
void finish(const Scene& scene, Draws& draws, float* values, std::size_t count) {
  const float step = scene.noise / 127.5f;
  for (std::size_t begin = 0; begin < count; begin += 4) {
    std::uint32_t word = draws.word();
    for (std::size_t i = begin; i < std::min(begin + 4, count); ++i, word >>= 8) {
      const float noise = step * static_cast<float>(word & 0xff) - scene.noise;
      values[i] = (std::clamp(values[i] + noise, 0.0f, 1.0f) - kMean) / kDeviation;
    }
  }
}

void check(bool good, const std::string& what, int got, const std::string& expected) {
  if (!good) throw DataError("shapes", what, std::to_string(got), expected);
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

ShapesDataset::ShapesDataset(const ShapesOptions& options, Split split, RandomBits random)
    : options_(options),
      stream_(split == Split::kTrain ? DataStream::kShapesTrain : DataStream::kShapesTest),
      random_(std::move(random)) {
  const std::string sides =
      std::to_string(kSmallestShapesImage) + " to " + std::to_string(kLargestImage);
  const auto side_fits = [](int side) {
    return side >= kSmallestShapesImage && side <= kLargestImage;
  };
  check(options.size > 0, "number of images", 0, "at least 1");
  check(options.channels == 1 || options.channels == 3, "channels", options.channels, "1 or 3");
  check(side_fits(options.height), "image height", options.height, sides);
  check(side_fits(options.width), "image width", options.width, sides);
}

const std::string& ShapesDataset::name() const noexcept {
  static const std::string name = "shapes";
  return name;
}

const std::vector<std::string>& ShapesDataset::class_names() const noexcept {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ShapeOutline& outline : kShapeOutlines) all.emplace_back(outline.name);
    return all;
  }();
  return names;
}

void ShapesDataset::read(const Sample& sample, float* image, std::int32_t* label) const {
  const std::uint64_t counter = std::uint64_t{sample.index} << kCounterBits;
  *label = static_cast<std::int32_t>(sample.index % kShapeCount);
  const ShapeOutline& outline = kShapeOutlines[static_cast<std::size_t>(*label)];
  Draws scene_draws(random_, stream_, counter);
  const Scene scene = draw_scene(outline, image_shape(), scene_draws);
  draw_background(scene, image_shape(), image);
  draw_shape(outline, scene, image_shape(), image);
  Draws noise_draws(random_, stream_, counter + kFirstNoiseCounter);
  finish(scene, noise_draws, image, image_shape().elements());
}

}  // namespace skyline
