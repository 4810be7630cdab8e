#include "data/images/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImageFolder : public ::testing::Test {
 protected:
  void write(const std::string& name) { write_file(folder_.path() / name, {1}); }
  void make(const std::string& name) { std::filesystem::create_directories(folder_.path() / name); }
  ImageCollection scan() { return scan_image_folder(folder_.path()); }
  std::string error() {
    return data_error_of([this] { scan(); });
  }
  std::string at(const std::string& name) { return "[" + (folder_.path() / name).string() + "] "; }

  TemporaryFolder folder_;
};

std::vector<std::string> names_of(const ImageFiles& files) {
  std::vector<std::string> names;
  for (const ImageFiles::File& file : files.files) {
    names.push_back(file.path + " " + std::to_string(file.label));
  }
  return names;
}

TEST_F(ImageFolder, LabelsFollowTheNamesOfTrainsClasses) {
  for (const char* name : {"train/zebra/1.jpg", "train/ant/2.jpg", "train/ant/10.jpg",
                           "train/Bee/x", "val/zebra/a.jpg", "val/ant/b.jpg"}) {
    write(name);
  }
  const ImageCollection images = scan();
  EXPECT_EQ(images.name, folder_.path().filename().string());
  EXPECT_THAT(images.class_names, ElementsAre("Bee", "ant", "zebra"));
  EXPECT_THAT(names_of(images.train),
              ElementsAre("Bee/x 0", "ant/10.jpg 1", "ant/2.jpg 1", "zebra/1.jpg 2"));
  EXPECT_THAT(names_of(images.test), ElementsAre("ant/b.jpg 1", "zebra/a.jpg 2"));
  EXPECT_EQ(images.train.path(0), (folder_.path() / "train/Bee/x").string());
  EXPECT_TRUE(images.warnings.empty());
}

TEST_F(ImageFolder, ValMayBeCalledOtherwise) {
  write("train/a/1");
  for (const char* name : {"test", "validation", "valid", "val"}) {
    write(std::string(name) + "/a/" + name);
    EXPECT_TRUE(has_class_folders(folder_.path()));
    EXPECT_THAT(names_of(scan().test), ElementsAre(std::string("a/") + name + " 0"));
  }
  EXPECT_THAT(scan().warnings,
              ElementsAre(folder_.path().string() +
                          " holds 'val', 'valid', 'validation', 'test': validating on 'val'"));
}

// Three classes of 200, 20 and 2 images.
TEST_F(ImageFolder, AShareOfEachClassIsHeldOut) {
  for (const auto& [name, images] :
       {std::pair("train/a/", 200), {"train/b/", 20}, {"train/c/", 2}}) {
    for (int i = 0; i < images; ++i) write(name + std::to_string(i) + ".jpg");
  }
  const ImageFolderOptions share{.val_share = 0.2};
  const ImageCollection images = scan_image_folder(folder_.path(), share);
  std::map<std::int32_t, int> held_out;
  for (const auto& file : images.test.files) ++held_out[file.label];
  EXPECT_NEAR(held_out[0], 40, 12) << "two standard deviations are 11";
  EXPECT_NEAR(held_out[1], 4, 4);
  EXPECT_EQ(held_out[2], 1) << "at least one, and not all";
  EXPECT_EQ(images.train.files.size() + images.test.files.size(), 222u);
  std::vector<std::string> before = names_of(images.test);
  for (int i = 200; i < 300; ++i) write("train/a/" + std::to_string(i) + ".jpg");
  const std::vector<std::string> after = names_of(scan_image_folder(folder_.path(), share).test);
  for (const std::string& name : before) EXPECT_THAT(after, ::testing::Contains(name));
  EXPECT_NEAR(static_cast<double>(after.size()), static_cast<double>(before.size()) + 20, 9);
}

TEST_F(ImageFolder, ClassesNeedNoSplit) {
  for (const char* name : {"cat/1", "cat/2", "cat/3", "dog/1", "dog/2"}) write(name);
  const std::string hint =
      "if its folders are classes, hold out some images of each for "
      "validation, --val-split 0.1";
  EXPECT_EQ(error(), "[" + folder_.path().string() +
                         "] no folder 'train' (it holds folders 'cat', 'dog', no files): " + hint);
  const ImageCollection images = scan_image_folder(folder_.path(), {.val_share = 0.5});
  EXPECT_THAT(images.class_names, ElementsAre("cat", "dog"));
  EXPECT_EQ(images.train.files.size() + images.test.files.size(), 5u);
  EXPECT_TRUE(std::filesystem::exists(images.test.path(0)));
  EXPECT_EQ(scan_image_folder(folder_.path(), {.needs_train = false}).test.files.size(), 5u);
  const ImageCollection all =
      scan_image_folder(folder_.path(), {.needs_train = false, .needs_test = false});
  EXPECT_EQ(all.train.files.size(), 5u);
  EXPECT_TRUE(all.test.files.empty());
}

TEST_F(ImageFolder, RefusesAShareThatHoldsNothingOut) {
  write("train/a/1");
  EXPECT_EQ(data_error_of([this] { scan_image_folder(folder_.path(), {.val_share = 0.5}); }),
            at("train") + "no class has two images, so none can be held out");
  write("valid/a/2");
  EXPECT_EQ(data_error_of([this] { scan_image_folder(folder_.path(), {.val_share = 0.5}); }),
            "[" + folder_.path().string() +
                "] holds 'valid' for validation, so no images need to be held out");
}

TEST_F(ImageFolder, NamesMayHoldAnything) {
  const std::string name = "a b's \"q\" ü 漢\n.jpg";
  write("train/süß und \"fein\"/" + name);
  write("val/süß und \"fein\"/" + name);
  const ImageCollection images = scan();
  EXPECT_THAT(images.class_names, ElementsAre("süß und \"fein\""));
  EXPECT_TRUE(std::filesystem::exists(images.train.path(0)));
  EXPECT_TRUE(std::filesystem::exists(images.test.path(0)));
}

TEST_F(ImageFolder, HiddenFilesArePassedOverInSilence) {
  for (const char* name : {"train/a/1", "train/a/.DS_Store", "train/.cache/2", "val/a/3"}) {
    write(name);
  }
  const ImageCollection images = scan();
  EXPECT_EQ(images.class_names.size(), 1u);
  EXPECT_EQ(images.train.files.size(), 1u);
  EXPECT_TRUE(images.warnings.empty());
}

TEST_F(ImageFolder, WhatIsPassedOverIsSaid) {
  for (const char* name : {"train/a/1", "train/b/2", "train/b/inner/3", "val/a/4"}) write(name);
  make("val/b");  // its lack of images is counted later
  EXPECT_THAT(scan().warnings,
              ElementsAre("skipped the folder " + (folder_.path() / "train/b/inner").string() +
                          ": images must be directly in their class's folder"));
}

TEST_F(ImageFolder, RefusesAFolderThatIsNone) {
  EXPECT_EQ(data_error_of([this] { scan_image_folder(folder_.path() / "none"); }),
            at("none") + "no such folder");
  write("file");
  EXPECT_EQ(data_error_of([this] { scan_image_folder(folder_.path() / "file"); }),
            at("file") + "not a folder");
}

TEST_F(ImageFolder, RefusesAFolderWithoutASplit) {
  write("train/a/1");
  EXPECT_EQ(error(), "[" + folder_.path().string() +
                         "] no folder 'val', 'valid', 'validation' or 'test' for validation (it "
                         "holds folders 'train', no files): add one, or hold out some images of "
                         "train, --val-split 0.1");
  std::filesystem::remove_all(folder_.path() / "train");
  write("val/a/1");
  EXPECT_EQ(error(), at("train") + "no such folder");
  EXPECT_THAT(names_of(scan_image_folder(folder_.path(), {.needs_train = false}).test),
              ElementsAre("a/1 0"));
}

TEST_F(ImageFolder, RefusesAFolderWithoutClasses) {
  write("train/1.jpg");
  write("val/a/2");
  EXPECT_EQ(error(), at("train") + "no classes: expected a folder of images per class");
}

TEST_F(ImageFolder, RefusesAClassWithoutImages) {
  for (const char* name : {"train/a/1", "val/a/2"}) write(name);
  make("train/empty one");
  EXPECT_EQ(error(), at("train/empty one") + "the class has no images");
  write("train/empty one/deeper/1");
  EXPECT_EQ(error(), at("train/empty one") + "the class has no images, but folders 'deeper'");
}

TEST_F(ImageFolder, RefusesAClassThatIsNotTrains) {
  for (const char* name : {"train/a/1", "val/a/2", "val/line\nend/3"}) write(name);
  EXPECT_EQ(error(), at("val") + "class 'line\\nend' is not a class of train");
}

TEST_F(ImageFolder, RefusesAFolderThatCannotBeRead) {
  for (const char* name : {"train/a/1", "val/a/2"}) write(name);
  const auto locked = folder_.path() / "train/a";
  chmod(folder_.path().c_str(), 0755);
  chmod(locked.c_str(), 0);
  constexpr uid_t kNobody = 65534;
  const uid_t self = geteuid();
  ASSERT_EQ(seteuid(self == 0 ? kNobody : self), 0);  // nothing is locked for root
  const std::string sentence = error();
  ASSERT_EQ(seteuid(self), 0);
  chmod(locked.c_str(), 0755);
  EXPECT_EQ(sentence, at("train/a") + "cannot be read: Permission denied");
}

}  // namespace
}  // namespace skyline
