#include "data/images/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data/loader.h"
#include "tests/data/data_error_of.h"
#include "tests/data/test_random.h"

namespace skyline {
namespace {

std::vector<float> image_of(const Dataset& data, std::size_t index) {
  std::vector<float> image(data.image_shape().elements());
  std::int32_t label = 0;
  data.read({.index = index}, image.data(), &label);
  return image;
}

TEST(Shapes, DependOnSeedSplitAndIndexAlone) {
  const ShapesDataset train({.size = 50}, Split::kTrain, test_random(1));
  const ShapesDataset longer({.size = 80}, Split::kTrain, test_random(1));
  const ShapesDataset test({.size = 50}, Split::kTest, test_random(1));
  const ShapesDataset other({.size = 50}, Split::kTrain, test_random(2));
  std::set<std::vector<float>> different;
  for (const std::size_t index : {0u, 10u, 20u, 49u}) {
    EXPECT_EQ(image_of(train, index), image_of(longer, index));
    for (const auto* data : {&train, &test, &other}) different.insert(image_of(*data, index));
  }
  EXPECT_EQ(different.size(), 12u);
}

TEST(Shapes, AreBalancedAndNormalised) {
  const ShapesDataset data({.size = 500}, Split::kTrain, test_random(3));
  ASSERT_EQ(data.classes(), 10);
  std::array<int, 10> counts{};
  double sum = 0, squares = 0;
  std::vector<float> image(data.image_shape().elements());
  for (std::size_t index = 0; index < data.size(); ++index) {
    std::int32_t label = -1;
    data.read({.index = index}, image.data(), &label);
    ++counts.at(static_cast<std::size_t>(label));
    for (const float value : image) {
      ASSERT_GE(value, -2.0f);
      ASSERT_LE(value, 2.0f);
      sum += value;
      squares += value * value;
    }
  }
  for (const int count : counts) EXPECT_EQ(count, 50);
  const double elements = static_cast<double>(image.size() * data.size());
  EXPECT_NEAR(sum / elements, 0, 0.1);
  EXPECT_NEAR(squares / elements, 0.85, 0.25);
}

TEST(Shapes, ComeInEverySizeAndInGrey) {
  for (const ShapesOptions& options :
       {ShapesOptions{.size = 20, .channels = 1, .height = 28, .width = 28},
        ShapesOptions{.size = 20, .height = 64, .width = 24},
        ShapesOptions{.size = 20, .height = 16, .width = 16}}) {
    const ShapesDataset data(options, Split::kTest, test_random(4));
    EXPECT_EQ(data.image_shape(), (ImageShape{options.channels, options.height, options.width}));
    for (std::size_t index = 0; index < data.size(); ++index) {
      const auto image = image_of(data, index);
      const auto [least, most] = std::minmax_element(image.begin(), image.end());
      EXPECT_GT(*most - *least, 0.5f) << "no shape in image " << index;
    }
  }
}

TEST(Shapes, RefuseOptionsThatCannotBeDrawn) {
  const auto error_of = [](const ShapesOptions& options) {
    return data_error_of([&] { ShapesDataset(options, Split::kTrain, test_random(0)); });
  };
  EXPECT_EQ(error_of({.size = 0}), "[shapes] number of images, got 0, expected at least 1");
  EXPECT_EQ(error_of({.channels = 4}), "[shapes] channels, got 4, expected 1 or 3");
  EXPECT_EQ(error_of({.height = 15}), "[shapes] image height, got 15, expected 16 to 1024");
  EXPECT_EQ(error_of({.width = 1025}), "[shapes] image width, got 1025, expected 16 to 1024");
}

// An outline fits the unit disc, has an inside, and its distance function is 1-Lipschitz.
TEST(ShapeOutlines, FitTheUnitDiscAndMeasureDistances) {
  constexpr float kStep = 0.01f;
  for (const ShapeOutline& outline : kShapeOutlines) {
    for (const float thickness : {kLeastThickness, kMostThickness}) {
      int inside = 0;
      for (float y = -1.6f; y < 1.6f; y += kStep) {
        for (float x = -1.6f; x < 1.6f; x += kStep) {
          const float distance = outline.distance(x, y, thickness);
          const float right = outline.distance(x + kStep, y, thickness);
          ASSERT_LE(std::abs(right - distance), kStep * 1.01f) << outline.name << x << ", " << y;
          if (distance >= 0) continue;
          ++inside;
          // A square's corner reaches 0.75 · √2; the generator leaves a pixel of room for it.
          ASSERT_LE(std::hypot(x, y), 1.07f) << outline.name;
        }
      }
      const float area = static_cast<float>(inside) * kStep * kStep;
      EXPECT_GT(area, 0.5f) << outline.name;
    }
  }
}

// Softmax regression on pixels, trained by stochastic gradient descent.
class LinearClassifier {
 public:
  explicit LinearClassifier(std::size_t inputs) : inputs_(inputs), weights_(10 * (inputs + 1)) {}

  std::array<float, 10> scores(const std::vector<float>& image) const {
    std::array<float, 10> scores{};
    for (std::size_t k = 0; k < 10; ++k) {
      const float* row = &weights_[k * (inputs_ + 1)];
      scores[k] = std::inner_product(image.begin(), image.end(), row, row[inputs_]);
    }
    return scores;
  }
  std::int32_t predict(const std::vector<float>& image) const {
    const auto all = scores(image);
    return static_cast<std::int32_t>(std::max_element(all.begin(), all.end()) - all.begin());
  }
  void learn(const std::vector<float>& image, std::int32_t label, float rate) {
    auto p = scores(image);
    const float most = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& value : p) sum += value = std::exp(value - most);
    for (std::size_t k = 0; k < 10; ++k) {
      const float slope = p[k] / sum - (static_cast<std::int32_t>(k) == label ? 1.0f : 0.0f);
      float* row = &weights_[k * (inputs_ + 1)];
      for (std::size_t i = 0; i < inputs_; ++i) row[i] -= rate * slope * image[i];
      row[inputs_] -= rate * slope;
    }
  }

 private:
  std::size_t inputs_;
  std::vector<float> weights_;
};

TEST(Shapes, AreTooHardForALinearModel) {
  const ShapesDataset train({.size = 4000}, Split::kTrain, test_random(5));
  const ShapesDataset test({.size = 1000}, Split::kTest, test_random(5));
  LinearClassifier model(train.image_shape().elements());
  Loader loader(train, {.batch_size = 1, .prefetch = 0}, test_random(6));
  for (std::size_t step = 0; step < 4 * train.size(); ++step) {
    const Batch sample = loader.next();
    model.learn(sample.images, sample.labels[0], 1e-4f);
  }
  const auto top1 = [&model](const Dataset& data) {
    int right = 0;
    for (std::size_t index = 0; index < data.size(); ++index) {
      right += model.predict(image_of(data, index)) == static_cast<std::int32_t>(index % 10);
    }
    return static_cast<double>(right) / static_cast<double>(data.size());
  };
  RecordProperty("linear_test_top1", std::to_string(top1(test)));
  EXPECT_LT(top1(test), 0.25);
  EXPECT_GT(top1(train), 0.15) << "the model learnt nothing, so the test proves nothing";
}

}  // namespace
}  // namespace skyline
