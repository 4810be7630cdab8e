#include "data/images/cifar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/test_random.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kPixels = 32 * 32;

// A record whose red levels count the columns from `first`, with green 100 and blue 200.
Bytes record(Bytes labels, int first) {
  for (int level = 0; level < 3; ++level) {
    for (std::size_t i = 0; i < kPixels; ++i) {
      const int red = first + static_cast<int>(i % 32);
      labels.push_back(static_cast<std::uint8_t>(level == 0 ? red : 100 * level));
    }
  }
  return labels;
}

class CifarTest : public ::testing::Test {
 protected:
  CifarTest() {
    for (int batch = 1; batch <= 5; ++batch) {
      folder_.write("data_batch_" + std::to_string(batch) + ".bin",
                    joined(record({static_cast<std::uint8_t>(batch)}, batch), record({9}, 0)));
    }
    folder_.write("test_batch.bin", record({3}, 7));
  }
  Cifar cifar() { return *find_cifar(folder_.path()); }
  std::string error(Split split = Split::kTrain) {
    return data_error_of([&] { read_cifar_split(cifar(), split); });
  }
  std::string at(const char* name) { return "[" + (folder_.path() / name).string() + "] "; }

  TemporaryFolder folder_;
};

TEST_F(CifarTest, ReadsAllBatchesInOrderWithChannelsLast) {
  const ImageArrays train = read_cifar_split(cifar(), Split::kTrain);
  EXPECT_THAT(train.labels.bytes, ElementsAre(1, 9, 2, 9, 3, 9, 4, 9, 5, 9));
  EXPECT_EQ(train.shape(), (ImageShape{3, 32, 32}));
  EXPECT_THAT(std::vector(train.images.bytes.begin(), train.images.bytes.begin() + 6),
              ElementsAre(1, 100, 200, 2, 100, 200));
  EXPECT_EQ(read_cifar_split(cifar(), Split::kTest).size(), 1u);
  EXPECT_EQ(cifar().name, "cifar-10");
  EXPECT_EQ(cifar().class_names[9], "truck");
  write_text(folder_.path() / "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_EQ(cifar().class_names[9], "j");
}

TEST_F(CifarTest, NamesWhatIsMissingCutOrWithoutAClass) {
  folder_.write("data_batch_4.bin", Bytes(3073 + 100));
  EXPECT_EQ(error(), at("data_batch_4.bin") +
                         "file ends within record 1 (counted from 0), got 100 bytes of it, "
                         "expected 3073, a label and 3 x 32 x 32 levels");
  folder_.write("data_batch_4.bin", joined(record({0}, 0), record({10}, 0)));
  EXPECT_EQ(error(), at("data_batch_4.bin") +
                         "label of record 1 (counted from 0) has no class, got 10, expected "
                         "below 10");
  const ImageScan scan = scan_cifar(cifar());
  EXPECT_EQ(scan.images, 1u) << "those of the test";
  ASSERT_EQ(scan.bad.size(), 1u);
  EXPECT_THAT(scan.bad[0].reason, HasSubstr("label of record 1"));
  std::filesystem::remove(folder_.path() / "data_batch_4.bin");
  EXPECT_THAT(cifar().warnings, ElementsAre((folder_.path() / "data_batch_4.bin").string() +
                                            " is missing: its images are left out"));
  std::filesystem::remove(folder_.path() / "test_batch.bin");
  EXPECT_EQ(error(Split::kTest), at("test_batch.bin") + "no such file");
}

TEST_F(CifarTest, ScanCountsEveryImage) {
  const ImageScan scan = scan_cifar(cifar());
  EXPECT_EQ(scan.images, 11u);
  EXPECT_EQ(scan.classes[9].train, 5u);
  EXPECT_EQ(scan.classes[3].test, 1u);
  EXPECT_EQ(scan.bytes, 11u * 3073);
  EXPECT_TRUE(scan.bad.empty());
}

TEST_F(CifarTest, EachChannelHasItsOwnFigures) {
  const Normalisations figures = normalisation_of(read_cifar_split(cifar(), Split::kTest));
  EXPECT_EQ(figures[1], (Normalisation{0.3922, 1})) << "100 / 255, of one level";
  EXPECT_EQ(figures[2], (Normalisation{0.7843, 1}));
  EXPECT_EQ(figures[0], (Normalisation{0.08824, 0.03621})) << "22.5 / 255 and 9.233 / 255";
}

// Each place within 4 pixels occurs; what is outside the image has the mean colour, 0.
TEST_F(CifarTest, TrainingImagesAreMovedAndMirrored) {
  for (const bool mirrors : {true, false}) {
    const Augmentation augmentation{.random = test_random(1), .mirrors = mirrors};
    const ArrayDataset dataset("cifar", cifar().class_names,
                               read_cifar_split(cifar(), Split::kTest), augmentation);
    std::set<int> places;
    std::vector<float> image(3 * kPixels);
    std::int32_t label = 0;
    int mirrored = 0;
    for (std::uint64_t epoch = 0; epoch < 200; ++epoch) {
      dataset.read({.index = 0, .epoch = epoch}, image.data(), &label);
      const float* middle = image.data() + 16 * 32 * 3;
      const int red = static_cast<int>(std::lround(255 * middle[3 * 16]));
      const bool falls = middle[3 * 16] > middle[3 * 17];
      mirrored += falls;
      const int place = falls ? red - 7 - 15 : red - 7 - 16;  // columns to the right
      places.insert(place);
      const int from_left = falls ? -place : place;
      EXPECT_EQ(middle[1] == 0, from_left < 0) << "the first column is outside";
    }
    EXPECT_EQ(label, 3);
    EXPECT_EQ(*places.begin(), -4);
    EXPECT_EQ(*places.rbegin(), 4);
    EXPECT_EQ(mirrored > 0, mirrors);
  }
}

TEST_F(CifarTest, TheVersionOfPythonIsNamed) {
  const TemporaryFolder other;
  EXPECT_FALSE(find_cifar(other.path()));
  other.write("data_batch_1", {0x80, 2});
  EXPECT_EQ(data_error_of([&] { find_cifar(other.path()); }),
            "[" + other.path().string() +
                "] holds cifar-10 as pickles of Python: unpack the binary version instead, "
                "cifar-10-binary.tar.gz");
}

TEST(Cifar100Test, ReadsTheFineLabels) {
  const TemporaryFolder folder;
  folder.write("train.bin", joined(record({1, 42}, 0), record({19, 99}, 0)));
  folder.write("test.bin", record({0, 7}, 0));
  const Cifar cifar = *find_cifar(folder.path());
  EXPECT_EQ(cifar.name, "cifar-100");
  EXPECT_EQ(cifar.class_names.size(), 100u);
  EXPECT_THAT(read_cifar_split(cifar, Split::kTrain).labels.bytes, ElementsAre(42, 99));
}

}  // namespace
}  // namespace skyline
