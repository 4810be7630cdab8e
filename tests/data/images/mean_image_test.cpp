#include "data/images/normalisation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/test_random.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::ElementsAre;

class MeanImageTest : public ::testing::Test {
 protected:
  MeanImageTest() { write("val/a/1.png", plain_png(1, 1, 0, 0, 0)); }
  void write(const std::string& name, const FileBytes& bytes) {
    write_file(folder_.path() / name, bytes);
  }
  MeanImage mean(const MeanOptions& options = {}, int side = 2) {
    const ImageDataset dataset(
        std::make_shared<const ImageCollection>(scan_image_folder(folder_.path())), Split::kTrain,
        {.insize = 1, .side = side}, BadImagePolicy::kSkip, test_random(1),
        std::make_shared<BadImages>());
    return mean_image(dataset, test_random(1), options);
  }
  TemporaryFolder folder_;
};

TEST_F(MeanImageTest, IsTheMeanOfEveryPixel) {
  write("train/a/1.png", png(2, 2, PngColour::kGrey, {0, 10, 20, 30}));
  write("train/a/2.png", png(2, 2, PngColour::kGrey, {1, 10, 40, 30}));
  write("train/a/3.png", plain_png(2, 2, 2, 10, 60));
  EXPECT_EQ(mean().side, 2);
  EXPECT_THAT(mean().values, ElementsAre(1, 11 / 3.0f, 61 / 3.0f, 22 / 3.0f, 10, 80 / 3.0f,
                                         62 / 3.0f, 70 / 3.0f, 40, 62 / 3.0f, 70 / 3.0f, 40));
  EXPECT_NEAR(channel_mean(mean()).values[0], (3 + 22 + 62 + 62) / 12.0f, 1e-5f);
  EXPECT_EQ(channel_mean(mean()).values[9], channel_mean(mean()).values[0]);
}

TEST_F(MeanImageTest, LeavesOutWhatCannotBeRead) {
  write("train/a/1.png", plain_png(2, 2, 2, 4, 6));
  write("train/a/2.jpg", truncated_jpeg());
  EXPECT_THAT(mean().values, ElementsAre(2, 4, 6, 2, 4, 6, 2, 4, 6, 2, 4, 6));
  EXPECT_EQ(mean().images, 1u);
}

TEST_F(MeanImageTest, IsTheSameOnAnyNumberOfThreads) {
  for (int i = 0; i < 20; ++i) {
    write("train/a/" + std::to_string(i),
          i % 2 == 0 ? baseline_jpeg() : plain_png(7, 3, static_cast<std::uint8_t>(10 * i), 3, 9));
  }
  const MeanImage one = mean({.threads = 1}, 5);
  for (const std::size_t threads : {2, 5}) {
    EXPECT_EQ(mean({.threads = threads}, 5).values, one.values);
  }
}

TEST_F(MeanImageTest, TakesAFixedChoiceOfALargeSet) {
  for (int i = 0; i < 20; ++i) {
    write("train/a/" + std::to_string(i), plain_png(1, 1, static_cast<std::uint8_t>(i), 0, 0));
  }
  std::size_t done = 0, images = 0;
  const MeanOptions options{.most_images = 6, .progress = [&](std::size_t now, std::size_t all) {
                              done = now;
                              images = all;
                            }};
  const MeanImage some = mean(options);
  EXPECT_EQ(images, 6u);
  EXPECT_EQ(done, 6u);
  EXPECT_EQ(mean(options).values, some.values);
  EXPECT_NE(some.values, mean().values);
  EXPECT_NE(some.values[0], (0 + 1 + 2 + 3 + 4 + 5) / 6.0f) << "not simply the first ones";
}

TEST_F(MeanImageTest, RefusesASetWithoutAnyImage) {
  write("train/a/1.jpg", {});
  EXPECT_EQ(data_error_of([this] { mean(); }),
            "[" + folder_.path().filename().string() + "] none of 1 training images can be read");
}

}  // namespace
}  // namespace skyline
