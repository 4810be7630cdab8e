#include "tests/rooms/tree_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kMostLines = 600;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Tree, NoSourceIsLong) { EXPECT_THAT(long_sources(SKYLINE_SOURCE_DIR, kMostLines), IsEmpty()); }

TEST(Tree, ALongSourceIsFound) {
  const TemporaryFolder root;
  const std::string four_lines = "\n\n\n\n";
  for (const char* file : {"memory/a.h", "memory/below/b.cpp", "train/c.cu"}) {
    write(root.path() / file, four_lines);
  }
  for (const char* file : {"memory/notes.txt", "tests/memory/d_test.cpp"}) {
    write(root.path() / file, four_lines);
  }
  EXPECT_THAT(long_sources(root.path(), 4), IsEmpty());
  EXPECT_THAT(long_sources(root.path(), 3), ElementsAre("memory/a.h: 4 lines, at most 3",
                                                        "memory/below/b.cpp: 4 lines, at most 3",
                                                        "train/c.cu: 4 lines, at most 3"));
}

TEST(Tree, SourcesAreFormatted) { EXPECT_THAT(format_violations(SKYLINE_SOURCE_DIR), IsEmpty()); }

TEST(Tree, AnUnformattedSourceIsFound) {
  const TemporaryFolder root;
  fs::copy_file(fs::path(SKYLINE_SOURCE_DIR) / ".clang-format", root / ".clang-format");
  write(root / "memory/plan.h", "int a;\n");
  EXPECT_THAT(format_violations(root.path()), IsEmpty());
  write(root / "memory/plan.h", "int  a;\n");
  EXPECT_THAT(format_violations(root.path()),
              ElementsAre(testing::StartsWith("memory/plan.h:1:4: error:")));
}

TEST(Tree, TheLastCommitHasAShortSubject) {
  const auto subject = last_subject(SKYLINE_SOURCE_DIR);
  if (!subject) GTEST_SKIP() << "no git history";
  EXPECT_TRUE(fits_subject(*subject)) << *subject;
}

TEST(Tree, ALongSubjectIsFound) {
  EXPECT_TRUE(fits_subject(std::string(72, 'x')));
  EXPECT_FALSE(fits_subject(std::string(73, 'x')));
  std::string accents;
  for (int i = 0; i < 72; ++i) accents += "é";
  EXPECT_TRUE(fits_subject(accents));
  EXPECT_FALSE(fits_subject(accents + "é"));
}

TEST(Tree, AFolderWithoutHistoryHasNoSubject) {
  EXPECT_EQ(last_subject(TemporaryFolder().path()), std::nullopt);
}

}  // namespace
}  // namespace skyline
