#include "data/images/image_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::ElementsAre;

class ImageList : public ::testing::Test {
 protected:
  ImageList() {
    for (const char* name : {"a.jpg", "b c.jpg", "it's \"ü\".jpg", "deep/d.jpg"}) {
      write_file(folder_.path() / "images" / name, {1});
    }
    write_text(val_, "a.jpg 0\n");
  }

  ImageCollection read(const std::string& train, std::optional<int> classes = {}) {
    write_text(train_, train);
    return read_image_lists(
        {.train = train_, .test = val_, .root = folder_.path() / "images", .classes = classes});
  }
  std::string error(const std::string& train, std::optional<int> classes = {}) {
    return data_error_of([&] { read(train, classes); });
  }
  std::string at_train() const { return "[" + train_.string() + "] "; }

  TemporaryFolder folder_;
  const std::filesystem::path train_ = folder_.path() / "train.txt", val_ = folder_.path() / "val";
};

TEST_F(ImageList, ReadsALineAnImage) {
  const ImageCollection images =
      read("a.jpg 1\r\n\n  b c.jpg\t 0\nit's \"ü\".jpg 4\ndeep/d.jpg 04");
  ASSERT_EQ(images.train.files.size(), 4u);
  EXPECT_EQ(images.name, "train");
  EXPECT_EQ(images.train.files[0].path, "a.jpg");
  EXPECT_EQ(images.train.files[0].label, 1);
  EXPECT_EQ(images.train.files[1].path, "b c.jpg");
  EXPECT_EQ(images.train.files[1].label, 0);
  EXPECT_EQ(images.train.files[2].path, "it's \"ü\".jpg");
  EXPECT_EQ(images.train.files[3].label, 4);
  EXPECT_THAT(images.class_names, ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_EQ(images.train.path(1), (folder_.path() / "images/b c.jpg").string());
}

TEST_F(ImageList, SkipsAByteOrderMarkAndRefusesUtf16) {
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "a.jpg 1\n")
                .train.files[0]
                .path,
            "a.jpg");
  EXPECT_EQ(error("\xff\xfe"
                  "a"),
            at_train() + "is UTF-16; convert it to UTF-8");
}

TEST_F(ImageList, ShowsTheBeginningOfALongLine) {
  EXPECT_EQ(
      error(std::string(1'000'000, 'x')),
      at_train() + "line 1: expected a path and a label, got '" + std::string(80, 'x') + "…'");
}

TEST_F(ImageList, PathsMayBeAbsoluteOrBelowTheListsFolder) {
  const std::string whole = (folder_.path() / "images/a.jpg").string();
  write_text(train_, whole + " 0\nimages/b c.jpg 0\n");
  write_text(val_, "images/a.jpg 0\n");
  const ImageCollection images = read_image_lists({.train = train_, .test = val_});
  EXPECT_EQ(images.train.path(0), whole);
  EXPECT_TRUE(std::filesystem::exists(images.train.path(1)));
}

TEST_F(ImageList, ClassesMayBeMoreThanTheLabels) {
  EXPECT_EQ(read("a.jpg 1\n", 1000).class_names.size(), 1000u);
}

TEST_F(ImageList, NamesAMissingFileAndItsLine) {
  EXPECT_EQ(error("a.jpg 0\n\nb.jpg 0\n"),
            at_train() + "line 3: no file " + (folder_.path() / "images/b.jpg").string());
}

TEST_F(ImageList, NamesALabelOutOfRangeWithItsLine) {
  EXPECT_EQ(error("a.jpg 0\na.jpg -1\n"),
            at_train() + "line 2: label, got -1, expected 0 to 999999");
  EXPECT_EQ(error("a.jpg 99999999999999999999\n"),
            at_train() + "line 1: label, got 99999999999999999999, expected 0 to 999999");
  EXPECT_EQ(error("a.jpg 7\n", 5),
            at_train() + "line 1: label, got 7, expected 0 to 4, the requested classes");
  write_text(val_, "a.jpg 0\na.jpg 2\n");
  EXPECT_EQ(error("a.jpg 1\n"), "[" + val_.string() +
                                    "] line 2: label, got 2, expected 0 to 1, the labels of the "
                                    "training list");
}

TEST_F(ImageList, NamesALineThatIsNone) {
  EXPECT_EQ(error("a.jpg\n"), at_train() + "line 1: expected a path and a label, got 'a.jpg'");
  EXPECT_EQ(error("a.jpg 1.5\n"), at_train() + "line 1: the label '1.5' is not a whole number");
  EXPECT_EQ(error("b c.jpg\n"), at_train() + "line 1: expected a path and a label, got 'b c.jpg'");
}

TEST_F(ImageList, LabelsMayBeNames) {
  write_text(val_, "deep/d.jpg cat\n");
  const ImageCollection images = read(
      "\xEF\xBB\xBF"
      "a.jpg dog\nb c.jpg cat\ndeep/d.jpg\tguinea pig\r\na.jpg cat\n");
  EXPECT_TRUE(images.named);
  EXPECT_THAT(images.class_names, ElementsAre("cat", "dog", "guinea pig"));
  EXPECT_EQ(images.train.files[0].label, 1);
  EXPECT_EQ(images.train.files[1].path, "b c.jpg");
  EXPECT_EQ(images.train.files[2].label, 2);
  EXPECT_EQ(images.test.files[0].label, 0);
  EXPECT_FALSE(read_image_lists({.test = folder_.path() / "val", .root = folder_.path() / "images"})
                   .class_names.size() > 1);
}

TEST_F(ImageList, AFileMayOrderTheNames) {
  write_text(val_, "a.jpg cat\n");
  write_text(train_, "a.jpg dog\na.jpg cat\n");
  ImageListOptions options{.train = train_, .test = val_, .root = folder_.path() / "images"};
  options.names = {"dog", "cat", "eel"};
  const ImageCollection images = read_image_lists(options);
  EXPECT_THAT(images.class_names, ElementsAre("dog", "cat", "eel"));
  EXPECT_EQ(images.test.files[0].label, 1);
  options.names = {"dog"};
  EXPECT_EQ(data_error_of([&] { read_image_lists(options); }),
            at_train() + "line 2: the label 'cat' is none of the 1 classes");
}

TEST_F(ImageList, NamesALineWhoseLabelIsOfTheOtherKind) {
  EXPECT_EQ(error("a.jpg 0\na.jpg cat\n"),
            at_train() + "line 2: the label 'cat' is not a whole number, as those before it are");
  EXPECT_EQ(error("a.jpg cat\n\na.jpg 3\n"),
            at_train() + "line 3: the label '3' is a number, but those before it are names");
  EXPECT_EQ(error("a.jpg cat\n"), "[" + val_.string() +
                                      "] line 1: the label '0' is a number, but those before it "
                                      "are names");
  write_text(val_, "a.jpg cat\na.jpg cow\n");
  EXPECT_EQ(error("a.jpg cat\n"),
            "[" + val_.string() + "] line 2: the label 'cow' is none of the 1 classes");
}

TEST_F(ImageList, RefusesAListWithoutImages) {
  EXPECT_EQ(error("\n \n"), at_train() + "names no images");
  EXPECT_EQ(data_error_of(
                [this] { read_image_lists({.train = folder_.path() / "none.txt", .test = val_}); }),
            "[" + (folder_.path() / "none.txt").string() + "] no such file");
  EXPECT_EQ(data_error_of([this] { read_image_lists({.train = folder_.path(), .test = val_}); }),
            "[" + folder_.path().string() + "] is not a file");
}

}  // namespace
}  // namespace skyline
