#include "train/training_data.h"

#include <gtest/gtest.h>

#include "data/errors.h"
#include "train/usage_error.h"

namespace skyline {
namespace {

std::string refusal(const std::string& data) {
  try {
    open_training_data({.data = data}, {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrainingDataTest, ShapesAreDrawnForTheModel) {
  const TrainingData data = open_training_data({.images = 50, .test_images = 20},
                                               {.channels = 3, .height = 24, .width = 20});
  EXPECT_EQ(data.train->size(), 50u);
  EXPECT_EQ(data.test->size(), 20u);
  EXPECT_EQ(data.shape(), (ModelShape{3, 24, 20, 10}));
}

TEST(TrainingDataTest, TheSeedDecidesTheImages) {
  const auto first_image = [](std::uint64_t seed) {
    const TrainingData data = open_training_data({.images = 10, .seed = seed}, {});
    std::vector<float> image(data.train->image_shape().elements());
    std::int32_t label = 0;
    data.train->read({.index = 0}, image.data(), &label);
    return image;
  };
  EXPECT_EQ(first_image(1), first_image(1));
  EXPECT_NE(first_image(1), first_image(2));
}

TEST(TrainingDataTest, UnknownNamesAndFoldersAreRefused) {
  EXPECT_EQ(refusal("shaeps"), "unknown data set 'shaeps'; did you mean 'shapes'?");
  EXPECT_EQ(refusal("/no/such/folder"),
            "no data set '/no/such/folder': neither a generator (shapes) nor a folder with IDX "
            "files");
}

TEST(TrainingDataTest, AFolderWithoutImagesNamesTheMissingFile) {
  try {
    open_training_data({.data = ::testing::TempDir()}, {});
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("train-images"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace skyline
