#include "data/images/idx/emnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/idx/idx_folder.h"
#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two letters of 2 × 3 pixels.
class EmnistTest : public ::testing::Test {
 protected:
  EmnistTest() {
    const Bytes images = idx_bytes({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    for (const char* split : {"train", "test"}) {
      const std::string stem = std::string("emnist-letters-") + split;
      folder_.write(stem + "-images-idx3-ubyte.gz", gzipped(images));
      folder_.write(stem + "-labels-idx1-ubyte", idx_bytes({2}, {1, 26}));
    }
  }
  TemporaryFolder folder_;
};

TEST_F(EmnistTest, ImagesAreUprightAndLettersBeginAtClass0) {
  EXPECT_TRUE(has_idx_files(folder_.path()));
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const ImageArrays letters = read_idx_split(folder_.path(), split);
    EXPECT_THAT(letters.labels.bytes, ElementsAre(0, 25));
    EXPECT_EQ(letters.shape(), (ImageShape{1, 3, 2}));
    EXPECT_THAT(letters.images.bytes, ElementsAre(1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12));
  }
  const Emnist emnist = *find_emnist(folder_.path());
  EXPECT_EQ(emnist.name, "emnist-letters");
  EXPECT_EQ(emnist.class_names.front(), "A/a");
  EXPECT_EQ(emnist.class_names.back(), "Z/z");
}

TEST_F(EmnistTest, TheMappingNamesTheClasses) {
  const auto mapping = folder_.path() / "emnist-letters-mapping.txt";
  tests::write_text(mapping, "26 90\n1 65 97\n");
  EXPECT_THAT(find_emnist(folder_.path())->class_names, ElementsAre("A/a", "Z"));
  EXPECT_THAT(read_idx_split(folder_.path(), Split::kTest).labels.bytes, ElementsAre(0, 1));
  tests::write_text(mapping, "1 65\n2 66\n");
  EXPECT_EQ(data_error_of([this] { read_idx_split(folder_.path(), Split::kTest); }),
            "[" + (folder_.path() / "emnist-letters-test-labels-idx1-ubyte").string() +
                "] label of record 1 (counted from 0) has no class, got 26, expected one of 1 to "
                "2");
  tests::write_text(mapping, "1 sixty\n");
  EXPECT_EQ(data_error_of([this] { find_emnist(folder_.path()); }),
            "[" + mapping.string() +
                "] a line of it, got '1 sixty', expected a label and the ASCII codes of its "
                "characters");
}

TEST_F(EmnistTest, SeveralSplitsAreNamed) {
  folder_.write("emnist-balanced-train-labels-idx1-ubyte.gz", {1});
  EXPECT_THAT(data_error_of([this] { has_idx_files(folder_.path()); }),
              HasSubstr("holds several splits of EMNIST (emnist-balanced, emnist-letters): put"));
}

TEST_F(EmnistTest, AMissingFileHasEmnistsName) {
  std::filesystem::remove(folder_.path() / "emnist-letters-test-labels-idx1-ubyte");
  EXPECT_EQ(data_error_of([this] { read_idx_split(folder_.path(), Split::kTest); }),
            "[" + folder_.path().string() +
                "] no file emnist-letters-test-labels-idx1-ubyte, plain or with .gz");
}

}  // namespace
}  // namespace skyline
