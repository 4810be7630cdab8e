#include "data/images/image_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

using namespace tests;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ScaledImagesTest : public testing::Test {
 protected:
  ScaledImages open(const std::string& name, ImageShape shape) {
    auto collection = std::make_shared<ImageCollection>();
    collection->name = "images";
    collection->test.files = {{(folder_.path() / name).string(), 3}};
    Normalisations figures;
    figures.fill({.mean = 0.5, .deviation = 0.25});
    return {collection, shape, figures, bad_, scaled_};
  }
  std::vector<float> read(const std::string& name, ImageShape shape) {
    std::vector<float> image(shape.elements(), -9.0f);
    open(name, shape).read({.index = 0}, image.data(), &label_);
    return image;
  }
  void write(const std::string& name, const FileBytes& bytes) const { folder_.write(name, bytes); }

  const TemporaryFolder folder_;
  const std::shared_ptr<BadImages> bad_ = std::make_shared<BadImages>();
  const std::shared_ptr<BadImages> scaled_ = std::make_shared<BadImages>();
  std::int32_t label_ = 0;
};

float normalised(float level) { return (level / 255.0f - 0.5f) / 0.25f; }

TEST_F(ScaledImagesTest, GreyLevelsStayAsTheyAre) {
  write("a.png", png(3, 2, PngColour::kGrey, {0, 1, 2, 100, 254, 255}));
  EXPECT_THAT(read("a.png", {1, 2, 3}),
              ElementsAre(normalised(0), normalised(1), normalised(2), normalised(100),
                          normalised(254), normalised(255)));
  EXPECT_EQ(label_, 3);
  EXPECT_THAT(scaled_->all(), IsEmpty());
}

TEST_F(ScaledImagesTest, ColoursStayForThreeChannelsAndBecomeGreyForOne) {
  write("a.png", plain_png(1, 1, 200, 100, 50));
  EXPECT_THAT(read("a.png", {3, 1, 1}),
              ElementsAre(normalised(200), normalised(100), normalised(50)));
  EXPECT_NEAR(read("a.png", {1, 1, 1})[0], normalised(0.299f * 200 + 0.587f * 100 + 0.114f * 50),
              1e-5f);
}

TEST_F(ScaledImagesTest, OtherSizesAreScaledWhateverTheirProportionsAndNoted) {
  std::vector<std::uint8_t> levels;
  for (int row = 0; row < 4; ++row) levels.insert(levels.end(), {10, 10, 10, 90, 90, 90});
  write("a.png", png(6, 4, PngColour::kGrey, levels));
  const std::vector<float> image = read("a.png", {1, 8, 2});  // twice as high, a third as wide
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_LT(image[2 * row], normalised(30));
    EXPECT_GT(image[2 * row + 1], normalised(70));
    EXPECT_NEAR(image[2 * row] + image[2 * row + 1], 2 * normalised(50), 1e-4);
  }
  EXPECT_THAT(scaled_->all(), ElementsAre(BadImage{(folder_.path() / "a.png").string(), "6 x 4"}));
}

TEST_F(ScaledImagesTest, ABadFileIsNamedAndNotCounted) {
  write("a.jpg", truncated_jpeg());
  EXPECT_THAT(read("a.jpg", {1, 4, 4}), Each(0.0f));
  EXPECT_EQ(label_, kNotCounted);
  ASSERT_EQ(bad_->all().size(), 1u);
  EXPECT_THAT(bad_->all()[0].reason, HasSubstr("file ends early"));
}

TEST_F(ScaledImagesTest, RefusesChannelsThatNoFileFills) {
  EXPECT_THAT(data_error_of([&] {
                open("a.png", {2, 1, 1});
              }),
              HasSubstr("got 2, expected 1 or 3"));
}

}  // namespace
}  // namespace skyline
