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

constexpr std::size_t kMostFiles = 25;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Tree, FoldersAreSmall) {
  EXPECT_THAT(crowded_folders(SKYLINE_SOURCE_DIR, kMostFiles), IsEmpty());
}

TEST(Tree, ACrowdedFolderIsFound) {
  const TemporaryFolder root;
  for (const char* file : {"a.h", "b.cpp", "c.cu", "notes.txt", "below/d.h"}) {
    write(root.path() / "memory" / file, "");
  }
  EXPECT_THAT(crowded_folders(root.path(), 3), IsEmpty());
  EXPECT_THAT(crowded_folders(root.path(), 2), ElementsAre("memory: 3 files of code, at most 2"));
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
