#include "data/images/image_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClassNames : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    folder_.write("names.txt", {text.begin(), text.end()});
    return (folder_.path() / "names.txt").string();
  }
  const TemporaryFolder folder_;
};

TEST_F(ClassNames, AreTheLines) {
  EXPECT_THAT(read_class_names(file("cat\nhot dog\r\n\n\n")), ElementsAre("cat", "hot dog"));
  EXPECT_THAT(read_class_names(file("crane\ncrane")), ElementsAre("crane", "crane"));
  EXPECT_THAT(read_class_names(file("\xef\xbb\xbf"
                                    "cat\n")),
              ElementsAre("cat"));
  EXPECT_THAT(numbered_classes(2), ElementsAre("0", "1"));
}

TEST_F(ClassNames, RefusesFilesThatNameNoClasses) {
  const auto problem = [](const std::string& path) {
    return data_error_of([&] { read_class_names(path); });
  };
  EXPECT_THAT(problem(file("\n\n")), HasSubstr("names.txt] names no classes"));
  EXPECT_THAT(problem(file("cat\n\ndog")), HasSubstr("line 2: the name of class 1 is empty"));
  EXPECT_THAT(problem((folder_.path() / "none").string()), HasSubstr("no such file"));
  EXPECT_THAT(problem(folder_.path().string()), HasSubstr("is not a file"));
}

}  // namespace
}  // namespace skyline
