#include "data/images/image_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/images/image_folder.h"
#include "data/loader.h"
#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/test_random.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::ElementsAre;

// 4 x 4 pixels: red is 10 y + x, green 100, blue 200.
FileBytes numbered_png() {
  std::vector<std::uint8_t> samples;
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      for (const int part : {10 * y + x, 100, 200}) {
        samples.push_back(static_cast<std::uint8_t>(part));
      }
    }
  }
  return png(4, 4, PngColour::kRgb, samples);
}

class ImageDatasetTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const FileBytes& bytes) {
    write_file(folder_.path() / name, bytes);
  }
  ImageDataset open(Split split, const ImagePipeline& pipeline = {.insize = 2, .side = 4},
                    BadImagePolicy policy = BadImagePolicy::kSkip, std::uint64_t seed = 1) {
    return {std::make_shared<const ImageCollection>(scan_image_folder(folder_.path())),
            split,
            pipeline,
            policy,
            test_random(seed),
            bad_images_};
  }
  // Writes five training images, three of them bad.
  void write_some_bad() {
    write("train/a/1.png", plain_png(3, 3, 1, 0, 0));
    write("train/a/2.jpg", truncated_jpeg());
    write("train/a/3.jpg", {});
    write("train/b/4.png", plain_png(3, 3, 4, 0, 0));
    write("train/b/5.jpg", arithmetic_jpeg());
    write("val/a/1.png", plain_png(3, 3, 1, 0, 0));
    write("val/b/2.jpg", arithmetic_jpeg());
  }

  TemporaryFolder folder_;
  std::shared_ptr<BadImages> bad_images_ = std::make_shared<BadImages>();
};

struct Read {
  std::vector<float> image;
  std::int32_t label = 0;
  bool operator==(const Read&) const = default;
};

Read read(const ImageDataset& dataset, std::size_t index, std::uint64_t epoch = 0) {
  Read result{.image = std::vector<float>(dataset.image_shape().elements())};
  dataset.read({.index = index, .epoch = epoch}, result.image.data(), &result.label);
  return result;
}

// The red values as they were in the file.
std::vector<int> reds(const std::vector<float>& image) {
  std::vector<int> values;
  for (std::size_t i = 0; i < image.size(); i += 3) {
    values.push_back(static_cast<int>(std::lround(image[i] * 255)));
  }
  return values;
}

TEST(ImagePipelineTest, TheSideFollowsTheInsize) {
  EXPECT_EQ(side_for(224), 256);
  EXPECT_EQ(side_for(227), 256);
  EXPECT_EQ(side_for(299), 342);
  EXPECT_EQ(side_for(32), 37);
  EXPECT_EQ(side_for(1), 1);
}

TEST_F(ImageDatasetTest, EvaluationReadsTheMiddle) {
  write("train/a/1.png", numbered_png());
  write("val/a/1.png", numbered_png());
  const Read result = read(open(Split::kTest), 0);
  EXPECT_THAT(reds(result.image), ElementsAre(11, 12, 21, 22));
  EXPECT_FLOAT_EQ(result.image[1], 100 / 255.0f);
  EXPECT_FLOAT_EQ(result.image[2], 200 / 255.0f);
  EXPECT_EQ(read(open(Split::kTest), 0, 7), result) << "whatever the epoch";
}

TEST_F(ImageDatasetTest, AnOddRoomIsLeftAtTheEnd) {
  write("train/a/1.png", numbered_png());
  write("val/a/1.png", numbered_png());
  EXPECT_THAT(reds(read(open(Split::kTest, {.insize = 3, .side = 4}), 0).image),
              ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22));
}

// Nine places, mirrored or not, must be about equally frequent. The seed is fixed; chi² with 17
// degrees of freedom exceeds 41 with a probability below 0.001.
TEST_F(ImageDatasetTest, TrainingCropsAndMirrorsEvenly) {
  write("train/a/1.png", numbered_png());
  write("val/a/1.png", numbered_png());
  const ImageDataset dataset = open(Split::kTrain);
  constexpr int kEpochs = 1800;
  std::map<std::vector<int>, int> seen;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    ++seen[reds(read(dataset, 0, epoch).image)];
  }
  ASSERT_EQ(seen.size(), 18u);
  double chi = 0;
  for (const auto& [values, count] : seen) {
    const int left = std::min(values[0], values[1]);
    std::vector<int> whole = {left, left + 1, left + 10, left + 11};
    if (values[0] != left) whole = {left + 1, left, left + 11, left + 10};
    EXPECT_EQ(values, whole);
    chi += (count - 100.0) * (count - 100.0) / 100;
  }
  EXPECT_LT(chi, 41);
}

TEST_F(ImageDatasetTest, WithoutMirroringTheSamePlacesAreCutOut) {
  write("train/a/1.png", numbered_png());
  write("val/a/1.png", numbered_png());
  const ImageDataset dataset = open(Split::kTrain);
  const ImageDataset upright = open(Split::kTrain, {.insize = 2, .side = 4, .mirrors = false});
  int mirrored = 0;
  for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
    std::vector<int> values = reds(read(dataset, 0, epoch).image);
    if (values[0] > values[1]) {
      ++mirrored;
      values = {values[1], values[0], values[3], values[2]};
    }
    EXPECT_EQ(reds(read(upright, 0, epoch).image), values);
  }
  EXPECT_GT(mirrored, 5);
}

// torchvision's: ToTensor(), then Normalize(mean, deviation).
TEST_F(ImageDatasetTest, NormalisesByFixedFiguresOfEachChannel) {
  write("train/a/1.png", numbered_png());
  write("val/a/1.png", numbered_png());
  ImageDataset dataset =
      open(Split::kTest, {.insize = 2, .side = 4, .normalisation = kImageNetNormalisation});
  const std::vector<float> image = read(dataset, 0).image;
  EXPECT_NEAR(image[0], (11 / 255.0 - 0.485) / 0.229, 1e-6);
  EXPECT_NEAR(image[1], (100 / 255.0 - 0.456) / 0.224, 1e-6);
  EXPECT_NEAR(image[5], (200 / 255.0 - 0.406) / 0.225, 1e-6);
  dataset.set_mean(
      std::make_shared<MeanImage>(MeanImage{.side = 4, .values = std::vector<float>(48, 51.0f)}));
  EXPECT_NEAR(read(dataset, 0).image[1], (100 / 255.0 - 0.2) / 0.224, 1e-6)
      << "a mean image replaces the means alone";
}

TEST_F(ImageDatasetTest, CropsDependOnSeedEpochAndIndexAlone) {
  for (const char* name : {"train/a/1.png", "train/a/2.png", "val/a/1.png"}) {
    write(name, numbered_png());
  }
  const auto crops = [this](std::uint64_t seed, std::size_t index) {
    const ImageDataset dataset =
        open(Split::kTrain, {.insize = 2, .side = 4}, BadImagePolicy::kSkip, seed);
    std::vector<std::vector<int>> all;
    for (std::uint64_t epoch = 0; epoch < 8; ++epoch) {
      all.push_back(reds(read(dataset, index, epoch).image));
    }
    return all;
  };
  EXPECT_EQ(crops(1, 0), crops(1, 0));
  EXPECT_NE(crops(1, 0), crops(2, 0));
  EXPECT_NE(crops(1, 0), crops(1, 1));
  const auto some = crops(1, 0);
  EXPECT_GT((std::set(some.begin(), some.end()).size()), 1u) << "epochs differ";
}

// The part of the mean under the crop is subtracted; it is not mirrored with the crop.
TEST_F(ImageDatasetTest, SubtractsTheMeansSamePart) {
  write("train/a/1.png", numbered_png());
  write("val/a/1.png", numbered_png());
  auto mean = std::make_shared<MeanImage>(MeanImage{.side = 4, .values = std::vector<float>(48)});
  for (std::size_t i = 0; i < 16; ++i) mean->values[3 * i] = static_cast<float>(i);  // 4 y + x
  ImageDataset test = open(Split::kTest);
  test.set_mean(mean);
  EXPECT_THAT(reds(read(test, 0).image), ElementsAre(11 - 5, 12 - 6, 21 - 9, 22 - 10));

  ImageDataset plain = open(Split::kTrain), train = open(Split::kTrain);
  train.set_mean(mean);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<int> values = reds(read(plain, 0, epoch).image);
    const int first = std::min(values[0], values[1]), top = first / 10, left = first % 10;
    const std::vector<int> means = {4 * top + left, 4 * top + left + 1, 4 * top + left + 4,
                                    4 * top + left + 5};
    const std::vector<int> less = reds(read(train, 0, epoch).image);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(less[i], values[i] - means[i]) << epoch;
  }
}

TEST_F(ImageDatasetTest, ABadImageIsReplacedByTheNextReadableOne) {
  write_some_bad();
  const ImageDataset dataset = open(Split::kTrain);
  ASSERT_EQ(dataset.size(), 5u);
  const auto value_and_label = [&](std::size_t index) {
    const Read result = read(dataset, index);
    return std::pair(reds(result.image)[0], result.label);
  };
  EXPECT_EQ(value_and_label(0), std::pair(1, 0));
  EXPECT_EQ(value_and_label(1), std::pair(4, 1));
  EXPECT_EQ(value_and_label(2), std::pair(4, 1));
  EXPECT_EQ(value_and_label(3), std::pair(4, 1));
  EXPECT_EQ(value_and_label(4), std::pair(1, 0)) << "after the last comes the first";
}

TEST_F(ImageDatasetTest, BadImagesAreKnownOnceByNameAndReason) {
  write_some_bad();
  const ImageDataset dataset = open(Split::kTrain);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t index = 0; index < 5; ++index) read(dataset, index, epoch);
  }
  const auto path = [this](const char* name) { return (folder_.path() / name).string(); };
  const std::vector<BadImage> expected = {
      {path("train/a/2.jpg"), "file ends early, after 248 bytes"},
      {path("train/a/3.jpg"), "file is empty"},
      {path("train/b/5.jpg"), "is an arithmetic-coded JPEG, which is not supported"}};
  EXPECT_EQ(bad_images_->all(), expected);
  EXPECT_EQ(bad_images_->take_new(), expected);
  EXPECT_TRUE(bad_images_->take_new().empty());
}

TEST_F(ImageDatasetTest, EvaluationDoesNotCountABadImage) {
  write_some_bad();
  const ImageDataset dataset = open(Split::kTest);
  EXPECT_EQ(read(dataset, 0).label, 0);
  const Read bad = read(dataset, 1);
  EXPECT_EQ(bad.label, kNotCounted);
  EXPECT_EQ(bad.image, std::vector<float>(12));
}

TEST_F(ImageDatasetTest, StrictFailsAtTheFirstBadImageByName) {
  write_some_bad();
  const ImageDataset dataset = open(Split::kTrain, {.insize = 2, .side = 4}, BadImagePolicy::kFail);
  read(dataset, 0);
  EXPECT_EQ(
      data_error_of([&] { read(dataset, 1); }),
      "[" + (folder_.path() / "train/a/2.jpg").string() + "] file ends early, after 248 bytes");
}

TEST_F(ImageDatasetTest, RefusesATrainingSplitWithoutAnyImage) {
  write("train/a/1.jpg", {});
  write("train/a/2.jpg", {});
  write("val/a/1.jpg", {});
  const ImageDataset dataset = open(Split::kTrain);
  EXPECT_EQ(data_error_of([&] { read(dataset, 1); }),
            "[" + dataset.name() + "] none of the 2 images can be read");
}

TEST_F(ImageDatasetTest, RefusesACropLargerThanTheImage) {
  write_some_bad();
  EXPECT_EQ(data_error_of([this] { open(Split::kTrain, {.insize = 5, .side = 4}); }),
            "[" + folder_.path().filename().string() +
                "] crop size, got 5, expected 1 to 4, the size of the scaled images");
}

// Covers good and bad files, crops, mirroring and the mean.
TEST_F(ImageDatasetTest, BatchesAreTheSameOnAnyNumberOfThreads) {
  write_some_bad();
  for (int i = 0; i < 12; ++i) write("train/a/x" + std::to_string(i), numbered_png());
  for (int i = 0; i < 4; ++i) write("train/b/y" + std::to_string(i), progressive_jpeg());
  const auto batches = [this](const LoaderOptions& options) {
    ImageDataset dataset = open(Split::kTrain, {.insize = 6, .side = 9});
    dataset.set_mean(std::make_shared<const MeanImage>(
        mean_image(dataset, test_random(1), {.threads = options.threads})));
    Loader loader(dataset, options, test_random(3));
    std::vector<Batch> all;
    for (int i = 0; i < 14; ++i) all.push_back(loader.next());
    return all;
  };
  const std::vector<Batch> expected = batches({.batch_size = 5, .prefetch = 0});
  for (const std::size_t threads : {1, 2, 5}) {
    for (const std::size_t prefetch : {1, 3}) {
      const std::vector<Batch> got =
          batches({.batch_size = 5, .prefetch = prefetch, .threads = threads});
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].images, expected[i].images) << threads << ", " << prefetch;
        ASSERT_EQ(got[i].labels, expected[i].labels);
      }
    }
  }
  // Starts in the middle of the second epoch.
  const std::vector<Batch> later =
      batches({.batch_size = 5, .prefetch = 2, .threads = 2, .start = {.epoch = 1, .batch = 2}});
  const std::size_t first = 21 / 5 + 2;
  for (std::size_t i = first; i < expected.size(); ++i) {
    ASSERT_EQ(later[i - first].position, expected[i].position);
    ASSERT_EQ(later[i - first].images, expected[i].images);
  }
}

}  // namespace
}  // namespace skyline
