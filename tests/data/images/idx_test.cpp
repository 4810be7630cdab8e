#include "data/images/idx.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"

namespace skyline {
namespace {

using testing::HasSubstr;

IdxArray parse(const Bytes& bytes, int rank) {
  ByteReader reader("file", bytes);
  return parse_idx(reader, rank);
}

// The message of an error in `source`.
std::string in(const std::string& source, const std::string& what) {
  return fmt::format("[{}] {}", source, what);
}

std::string parse_error(const Bytes& bytes, int rank) {
  return data_error_of([&] { parse(bytes, rank); });
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
  std::string load_error(Split split = Split::kTrain) const {
    return data_error_of([&] { IdxDataset(folder_.path(), split, mnist()); });
  }
};

TEST_F(IdxFolder, ReadsPlainAndCompressedFiles) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const IdxDataset data(folder_.path(), split, mnist());
    EXPECT_EQ(data.size(), 3u);
    EXPECT_EQ(data.classes(), 10);
    EXPECT_EQ(data.image_shape(), (ImageShape{.channels = 1, .height = 2, .width = 2}));
    std::array<float, 4> image{};
    std::int32_t label = -1;
    data.read({.index = 0}, image.data(), &label);
    EXPECT_EQ(label, 7);
    const std::array<float, 4> pixels = {0, 1, 0.2f, 0.4f};
    for (std::size_t i = 0; i < image.size(); ++i) {
      EXPECT_FLOAT_EQ(image[i], (pixels[i] - 0.1307f) / 0.3081f);
    }
    data.read({.index = 2}, image.data(), &label);
    EXPECT_EQ(label, 9);
    EXPECT_FLOAT_EQ(image[0], (5.0f / 255 - 0.1307f) / 0.3081f);
  }
}

TEST_F(IdxFolder, NamesWhatIsMissing) {
  std::filesystem::remove(file("train-images-idx3-ubyte"));
  EXPECT_EQ(load_error(),
            in(folder_.path().string(), "no file train-images-idx3-ubyte, plain or with .gz"));
  const auto absent = folder_.path() / "absent";
  EXPECT_EQ(data_error_of([&] { IdxDataset(absent, Split::kTest, mnist()); }),
            in(absent.string(), "no such folder"));
}

TEST_F(IdxFolder, RefusesAnotherNumberOfLabelsThanImages) {
  folder_.write("train-labels-idx1-ubyte", idx_bytes({2}, {7, 0}));
  EXPECT_EQ(load_error(), in(file("train-labels-idx1-ubyte"),
                             "number of labels, got 2, expected 3, the number of images"));
}

TEST_F(IdxFolder, RefusesALabelWithoutAClass) {
  folder_.write("train-labels-idx1-ubyte", idx_bytes({3}, {7, 10, 9}));
  EXPECT_EQ(load_error(), in(file("train-labels-idx1-ubyte"),
                             "label of record 1 (counted from 0) has no class, got 10, "
                             "expected below 10"));
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
  EXPECT_THAT(load_error(Split::kTest),
              testing::AllOf(HasSubstr(file("t10k-images-idx3-ubyte.gz")),
                             HasSubstr("corrupt gzip data"), HasSubstr("incorrect data check")));
}

TEST(Idx, ParsesAnArray) {
  const IdxArray array = parse(idx_bytes({2, 3}, {1, 2, 3, 4, 5, 6}), 2);
  EXPECT_EQ(array.dimensions, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(array.bytes, (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST(Idx, ParsesAnArrayLargerThanOneRead) {
  Bytes contents(3'000'001);
  for (std::size_t i = 0; i < contents.size(); ++i)
    contents[i] = static_cast<std::uint8_t>(i % 251);
  EXPECT_EQ(parse(gzipped(idx_bytes({3'000'001}, contents)), 1).bytes, contents);
}

TEST(Idx, SaysWhatKindOfFileItGot) {
  EXPECT_THAT(parse_error({'P', 'K', 3, 4, 0, 0}, 3),
              HasSubstr("got 0x504B0304 (not an IDX file)"));
  EXPECT_THAT(parse_error({0, 0, 0x0D, 3, 0, 0}, 3), HasSubstr("got 0x00000D03 (floats, 3"));
  EXPECT_THAT(parse_error({0, 0, 0x07, 3, 0, 0}, 3), HasSubstr("got 0x00000703 (not an IDX file)"));
}

TEST(Idx, SaysWhereAFileEndsEarly) {
  EXPECT_EQ(parse_error({}, 1),
            "[file] file ends within its magic number, got 0 bytes of it, expected 4");
  EXPECT_EQ(parse_error({0, 0, 8, 2, 0, 0, 0, 5, 0, 0}, 2),
            "[file] file ends within its dimension 1, got 2 bytes of it, expected 4");
  EXPECT_EQ(parse_error(idx_bytes({2, 3}, {1, 2, 3}), 2),
            "[file] file ends early, got at most 3 bytes after its header, expected 6 (2 x 3)");
  EXPECT_EQ(parse_error(gzipped(idx_bytes({2, 3}, {1, 2, 3})), 2),
            "[file] file ends early, got 3 bytes after its header, expected 6 (2 x 3)");
}

TEST(Idx, RefusesBytesAfterTheArray) {
  const Bytes bytes = idx_bytes({2}, {1, 2, 3});
  EXPECT_EQ(parse_error(bytes, 1), "[file] file goes on after its 2 bytes (2)");
  EXPECT_EQ(parse_error(gzipped(bytes), 1), "[file] file goes on after its 2 bytes (2)");
}

TEST(Idx, RefusesAbsurdDimensionsBeforeTakingMemory) {
  // None of these arrays would fit into memory; sanitizer builds refuse such requests outright.
  EXPECT_THAT(parse_error(idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, {}), 3),
              HasSubstr("array too large, got 4294967295 x 4294967295 x 4294967295 bytes"));
  EXPECT_THAT(parse_error(gzipped(idx_bytes({60000, 28, 1000}, {})), 3),
              HasSubstr("file ends early, got at most"));
  EXPECT_THAT(parse_error(idx_bytes({5, 0}, {}), 2), HasSubstr("an empty array, got 5 x 0"));
}

TEST(Idx, TakesTheCollectionFromTheFoldersName) {
  EXPECT_EQ(idx_collection_of("data/fashion-mnist").name, "fashion-mnist");
  EXPECT_EQ(idx_collection_of("data/Fashion-MNIST/").name, "fashion-mnist");
  EXPECT_EQ(idx_collection_of("fashion/digits").name, "mnist");
  EXPECT_EQ(fashion_mnist().class_names.size(), 10u);
  EXPECT_EQ(fashion_mnist().class_names.back(), "ankle boot");
}

}  // namespace
}  // namespace skyline
