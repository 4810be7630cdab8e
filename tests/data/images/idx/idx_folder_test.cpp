#include "data/images/idx/idx_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/image_collection.h"
#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"

namespace skyline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The message of an error in `source`.
std::string in(const std::string& source, const std::string& what) {
  return fmt::format("[{}] {}", source, what);
}

// Both splits hold three images of 2 × 2 pixels with the labels 7, 0, 9.
class IdxFolder : public testing::Test {
 protected:
  const Bytes images_ = idx_bytes({3, 2, 2}, {0, 255, 51, 102, 1, 2, 3, 4, 5, 6, 7, 8});
  const Bytes labels_ = idx_bytes({3}, {7, 0, 9});
  TemporaryFolder folder_;

  void SetUp() override {
    folder_.write("train-images-idx3-ubyte", images_);
    folder_.write("train-labels-idx1-ubyte", labels_);
    folder_.write("t10k-images-idx3-ubyte.gz", gzipped(images_));
    folder_.write("t10k-labels.idx1-ubyte.gz", gzipped(labels_));
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  ArrayDataset load(Split split = Split::kTrain) const {
    return {"digits", numbered_classes(10), read_idx_split(folder_.path(), split)};
  }
  std::string load_error(Split split = Split::kTrain) const {
    return data_error_of([&] { load(split); });
  }
  ImageScan scan(std::size_t classes = 10) const {
    return scan_idx(folder_.path(), [classes](const IdxArray*, const IdxArray*) {
      return IdxCollection{.name = "digits", .class_names = numbered_classes(classes)};
    });
  }
};

TEST_F(IdxFolder, ReadsPlainAndCompressedFiles) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    ArrayDataset data = load(split);
    data.set_normalisation({{{0.1307, 0.3081}}});
    EXPECT_EQ(data.size(), 3u);
    EXPECT_EQ(data.classes(), 10);
    EXPECT_EQ(data.image_shape(), (ImageShape{.channels = 1, .height = 2, .width = 2}));
    std::array<float, 4> image{};
    std::int32_t label = -1;
    data.read({.index = 0}, image.data(), &label);
    EXPECT_EQ(label, 7);
    const std::array<float, 4> levels = {0, 255, 51, 102};
    for (std::size_t i = 0; i < image.size(); ++i) {
      EXPECT_EQ(image[i], (levels[i] / 255.0f - 0.1307f) / 0.3081f);
    }
    data.read({.index = 2}, image.data(), &label);
    EXPECT_EQ(label, 9);
    EXPECT_EQ(image[0], (5.0f / 255 - 0.1307f) / 0.3081f);
  }
}

TEST_F(IdxFolder, NamesWhatIsMissing) {
  std::filesystem::remove(file("train-images-idx3-ubyte"));
  EXPECT_EQ(load_error(),
            in(folder_.path().string(), "no file train-images-idx3-ubyte, plain or with .gz"));
  const auto absent = folder_.path() / "absent";
  EXPECT_EQ(data_error_of([&] { read_idx_split(absent, Split::kTest); }),
            in(absent.string(), "no such folder"));
}

TEST_F(IdxFolder, RefusesAnotherNumberOfLabelsThanImages) {
  folder_.write("train-labels-idx1-ubyte", idx_bytes({2}, {7, 0}));
  EXPECT_EQ(load_error(), in(file("train-labels-idx1-ubyte"),
                             "number of labels, got 2, expected 3, the number of images"));
  EXPECT_THAT(scan().bad,
              ElementsAre(BadImage{file("train-labels-idx1-ubyte"),
                                   "number of labels, got 2, expected 3, the number of images"}));
}

TEST_F(IdxFolder, RefusesALabelWithoutAClass) {
  folder_.write("train-labels-idx1-ubyte", idx_bytes({3}, {7, 10, 9}));
  const std::string reason =
      "label of record 1 (counted from 0) has no class, got 10, expected below 10";
  EXPECT_EQ(load_error(), in(file("train-labels-idx1-ubyte"), reason));
  const ImageScan found = scan();
  EXPECT_THAT(found.bad, ElementsAre(BadImage{file("train-labels-idx1-ubyte"), reason}));
  EXPECT_EQ(found.images, 6u);
  EXPECT_EQ(found.classes[7].train + found.classes[9].train, 2u);
}

TEST_F(IdxFolder, RefusesImagesInPlaceOfLabels) {
  folder_.write("train-labels-idx1-ubyte", images_);
  EXPECT_EQ(load_error(), in(file("train-labels-idx1-ubyte"),
                             "magic number, got 0x00000803 (unsigned bytes, 3 dimensions), "
                             "expected 0x00000801 (unsigned bytes, 1 dimension)"));
}

TEST_F(IdxFolder, RefusesACorruptCompressedFile) {
  Bytes bytes = gzipped(images_);
  bytes[bytes.size() - 6] ^= 1;
  folder_.write("t10k-images-idx3-ubyte.gz", bytes);
  EXPECT_THAT(load_error(Split::kTest), AllOf(HasSubstr(file("t10k-images-idx3-ubyte.gz")),
                                              HasSubstr("incorrect data check")));
  const ImageScan found = scan();
  ASSERT_EQ(found.bad.size(), 1u);
  EXPECT_EQ(found.bad[0].path, file("t10k-images-idx3-ubyte.gz"));
  EXPECT_THAT(found.bad[0].reason, HasSubstr("corrupt gzip data"));
  EXPECT_EQ(found.images, 3u) << "those of training";
}

TEST_F(IdxFolder, ScanCountsEveryImage) {
  const ImageScan found = scan();
  EXPECT_THAT(found.bad, IsEmpty());
  EXPECT_EQ(found.images, 6u);
  EXPECT_EQ(found.classes[7].train, 1u);
  EXPECT_EQ(found.classes[0].test, 1u);
  EXPECT_EQ(found.classes[1].train, 0u);
  EXPECT_EQ(found.formats.at("IDX"), 6u);
  EXPECT_EQ(found.largest.width, 2u);
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    bytes += entry.file_size();
  }
  EXPECT_EQ(found.bytes, bytes);
}

TEST_F(IdxFolder, ScanNamesEveryMissingFile) {
  for (const char* name : {"train-images-idx3-ubyte", "t10k-labels.idx1-ubyte.gz"}) {
    std::filesystem::remove(file(name));
  }
  const ImageScan found = scan();
  EXPECT_EQ(found.images, 0u);
  ASSERT_EQ(found.bad.size(), 2u);
  EXPECT_THAT(found.bad[0].reason, HasSubstr("no file train-images-idx3-ubyte"));
  EXPECT_THAT(found.bad[1].reason, HasSubstr("no file t10k-labels-idx1-ubyte"));
}

TEST_F(IdxFolder, AreKnownByTheNamesOfTheirFiles) {
  EXPECT_TRUE(has_idx_files(folder_.path()));
  const TemporaryFolder other;
  EXPECT_FALSE(has_idx_files(other.path()));
  other.write("notes-ubyte", {1});
  other.write("my-train-images-idx3-ubyte.gz", {1});
  std::filesystem::create_directory(other.path() / "train-labels-idx1-ubyte");
  EXPECT_FALSE(has_idx_files(other.path()));
  other.write("t10k-labels-idx1-ubyte.gz", {1});
  EXPECT_TRUE(has_idx_files(other.path()));
}

ImageArrays split_of(const Bytes& levels) {
  ImageArrays split;
  split.images = {{static_cast<std::uint32_t>(levels.size()), 1, 1}, levels};
  return split;
}

TEST(IdxNormalisation, IsTheMeanAndDeviationOfEveryPixel) {
  // Mean 63.75 = 0.25 · 255; deviation √(3 · 63.75² + 191.25²)/2 = 0.4330 · 255.
  EXPECT_EQ(normalisation_of(split_of({0, 0, 0, 255}))[0], (Normalisation{0.25, 0.433}));
  EXPECT_EQ(normalisation_of(split_of({51, 102}))[0], (Normalisation{0.3, 0.1}));
  EXPECT_EQ(normalisation_of(split_of(Bytes(1000, 200)))[0], (Normalisation{0.7843, 1}));
}

// As before the figures came from the content, so that losses keep their bits.
TEST(IdxNormalisation, RoundedFiguresAreThePublishedOnes) {
  for (const auto& [mean, deviation] : {std::pair(0.1307, 0.3081), {0.286, 0.353}}) {
    const Normalisation figures{mean, deviation};
    const float m = mean == 0.286 ? 0.2860f : 0.1307f, d = mean == 0.286 ? 0.3530f : 0.3081f;
    for (int level = 0; level < 256; ++level) {
      const auto value = static_cast<float>(level);
      EXPECT_EQ(figures(value), (value / 255.0f - m) / d) << level;
    }
  }
}

}  // namespace
}  // namespace skyline
