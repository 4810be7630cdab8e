#include "train/images/image_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/host.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/temporary_folder.h"
#include "train/cli/usage_error.h"
#include "train/images/image_run.h"

namespace skyline {
namespace {

std::string refusal(const std::string& data) {
  try {
    open_image_data({.data = data}, {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrainingDataTest, ShapesAreDrawnForTheModel) {
  const ImageData data = open_image_data({.images = 50, .test_images = 20},
                                         {.channels = 3, .height = 24, .width = 20});
  EXPECT_EQ(data.train->size(), 50u);
  EXPECT_EQ(data.test->size(), 20u);
  EXPECT_EQ(data.shape(), (ModelShape{3, 24, 20, 10}));
}

TEST(TrainingDataTest, TheSeedDecidesTheImages) {
  const auto first_image = [](std::uint64_t seed) {
    const ImageData data = open_image_data({.images = 10, .seed = seed}, {});
    std::vector<float> image(data.train->image_shape().elements());
    std::int32_t label = 0;
    data.train->read({.index = 0}, image.data(), &label);
    return image;
  };
  EXPECT_EQ(first_image(1), first_image(1));
  EXPECT_NE(first_image(1), first_image(2));
}

// The seed that a run is given, not one of its own, orders its batches.
TEST(TrainingDataTest, TheSeedDecidesTheOrderOfBatches) {
  const ImageData data = open_image_data({.images = 64}, {});
  const auto labels = [&data](std::uint64_t seed) {
    ImageRun run({}, {}, {.model = "mlp", .shape = data.shape(), .batch_size = 32}, &data);
    run.seek({}, seed);
    run.next();
    return run.batch().labels;
  };
  EXPECT_EQ(labels(3), labels(3));
  EXPECT_NE(labels(3), labels(4));
}

TEST(TrainingDataTest, UnknownNamesAndFoldersAreRefused) {
  EXPECT_EQ(refusal("shaeps"), "unknown data set 'shaeps'; did you mean 'shapes'?");
  EXPECT_EQ(refusal("/no/such/folder"),
            "no data set '/no/such/folder': neither a generator (shapes) nor a folder with "
            "images");
}

TEST(TrainingDataTest, AFolderWithoutImagesNamesTheMissingFile) {
  try {
    const TemporaryFolder folder;
    open_image_data({.data = folder.path().string()}, {});
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("train-images"), std::string::npos) << error.what();
  }
}

TEST(TrainingDataTest, TheInsizeDecidesWhatIsRead) {
  EXPECT_EQ(open_image_data({.images = 50, .insize = 40}, {}).shape().height, 40);
  const TemporaryFolder folder;
  tests::write_image_folder(folder.path(), 2, 1);
  const ModelShape wanted{.channels = 1, .height = 28, .width = 28, .classes = 10};
  const DataOptions options{.data = folder.path().string(), .decode_threads = 1};
  const ImageData own = open_image_data(options, wanted);
  EXPECT_EQ(own.shape(), (ModelShape{3, 28, 28, 2}));
  EXPECT_EQ(own.train_images->pipeline().side, 32);
  DataOptions given = options;
  given.insize = 40;
  given.resize = 41;
  const ImageData other = open_image_data(given, wanted);
  EXPECT_EQ(other.shape(), (ModelShape{3, 40, 40, 2}));
  EXPECT_EQ(other.train_images->pipeline().side, 41);
}

TEST(TrainingDataTest, ImagesOfIdxFilesAreNotScaled) {
  const TemporaryFolder folder;
  tests::write_text(folder / "train-images-idx3-ubyte", "");
  EXPECT_THROW(open_image_data({.data = folder.path().string(), .insize = 40}, {}), UsageError);
}

// The folder is first empty, then lacks a validation split, then has a class that train lacks.
TEST(TrainingDataTest, FoldersWithoutAPartAreRefusedByName) {
  const auto problem = [](const TemporaryFolder& folder) -> std::string {
    try {
      open_image_data({.data = folder.path().string()}, {});
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  const TemporaryFolder folder;
  EXPECT_NE(problem(folder).find("neither an image folder"), std::string::npos);
  EXPECT_NE(problem(folder).find("it holds no folders, no files"), std::string::npos);
  tests::write_file(folder / "train/a/1", {1});
  EXPECT_NE(problem(folder).find("no folder 'val', "), std::string::npos);
  tests::write_file(folder / "val/b/1", {1});
  EXPECT_NE(problem(folder).find("class 'b' is not a class of train"), std::string::npos);
}

TEST(TrainingDataTest, OptionsThatImagesInArraysDoNotUseAreRefused) {
  const TemporaryFolder folder;
  tests::write_text(folder / "train-images-idx3-ubyte", "");
  const std::string data = folder.path().string();
  const auto problem = [](const DataOptions& options) -> std::string {
    try {
      open_image_data(options, {});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string why = "the images of IDX files come as they are";
  for (const auto& [options, flag] :
       {std::pair(DataOptions{.data = data, .resize = 40}, "--resize"),
        {DataOptions{.data = data, .val_split = 0.1}, "--val-split"},
        {DataOptions{.data = data, .mean = "none"}, "--mean"},
        {DataOptions{.data = data, .deviation = "1,1,1"}, "--deviation"}}) {
    EXPECT_EQ(problem(options),
              flag + std::string(" is for image files and would do nothing here: ") + why);
  }
  EXPECT_EQ(problem({.data = data, .mirror = false}), "--no-mirror would do nothing: " + why);
}

TEST(ClassWarningsTest, NameWhatIsOdd) {
  using ::testing::ElementsAre;
  EXPECT_THAT(class_warnings({"a", "b"}, {9, 1}, {1, 1}), ElementsAre());
  EXPECT_THAT(class_warnings({"a"}, {5}, {1}),
              ElementsAre("all images are of one class, 'a': is the data's folder a level too high "
                          "or too deep?"));
  EXPECT_THAT(class_warnings({"a", "b", "c"}, {0, 20, 2}, {1, 0, 0}),
              ElementsAre("1 of 3 classes has no images to train with: 'a'",
                          "2 of 3 classes have no images to validate with: 'b', 'c'",
                          "classes are very unequal: 'b' has 20 training images, 'c' has 2"));
  EXPECT_THAT(class_warnings({"a", "b"}, {1, 1}, {0, 0}), ElementsAre()) << "no split at all";
}

}  // namespace
}  // namespace skyline
