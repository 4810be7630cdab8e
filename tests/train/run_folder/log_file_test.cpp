#include "train/run_folder/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string text;
  std::uint64_t end = 0;
  bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const LogFile& file) {
  std::vector<Line> lines;
  file.for_each_line([&](std::string_view text, std::uint64_t end) {
    lines.push_back({std::string(text), end});
    return true;
  });
  return lines;
}

TEST(LogFileTest, GrowsByLines) {
  const TemporaryFolder folder;
  {
    LogFile file(folder / "log");
    EXPECT_EQ(file.first_line(), "");
    file.append("one");
    file.append("two");
  }
  LogFile file(folder / "log");
  file.append("three");
  EXPECT_EQ(read_file(folder / "log"), "one\ntwo\nthree\n");
  EXPECT_EQ(lines_of(file), (std::vector<Line>{{"one", 4}, {"two", 8}, {"three", 14}}));
  EXPECT_EQ(file.first_line(), "one");
  file.cut(4);
  EXPECT_EQ(file.bytes(), 4u);
}

// Pieces of 64 KiB end within lines, at line ends and right behind them.
TEST(LogFileTest, PutsLinesTogetherFromPieces) {
  const TemporaryFolder folder;
  constexpr std::size_t kPiece = 65536;
  for (const std::size_t length : {std::size_t{1}, kPiece - 2, kPiece - 1, kPiece, 3 * kPiece}) {
    SCOPED_TRACE(length);
    const std::string first(length, 'x');
    write_atomically(folder / "log", first + "\nsecond\n\ntorn");
    EXPECT_TRUE(lines_of(LogFile(folder / "log")) ==
                (std::vector<Line>{{first, length + 1}, {"second", length + 8}, {"", length + 9}}));
  }
}

TEST(LogFileTest, ALineThatIsTooLongIsEmptyAndNeverHeld) {
  const TemporaryFolder folder;
  const std::string longest(LogFile::kLongestLine, 'x');
  write_atomically(folder / "log", longest + "\nx" + longest + "\nlast\n");
  const std::vector<Line> lines = lines_of(LogFile(folder / "log"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].text == longest);
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "last");
}

TEST(LogFileTest, EndsALineThatHasNoEnd) {
  const TemporaryFolder folder;
  write_atomically(folder / "log", "a");
  LogFile file(folder / "log");
  file.end_line();
  file.end_line();
  file.append("b");
  EXPECT_EQ(read_file(folder / "log"), "a\nb\n");
  LogFile empty(folder / "empty");
  empty.end_line();
  EXPECT_EQ(empty.bytes(), 0u);
}

TEST(LogFileTest, HasOneOwner) {
  const TemporaryFolder folder;
  LogFile first(folder / "log"), second(folder / "log");
  EXPECT_TRUE(first.lock());
  EXPECT_FALSE(second.lock());
}

TEST(LogFileTest, KnowsWhetherItIsStillAtItsPlace) {
  const TemporaryFolder folder;
  const LogFile file(folder / "log");
  EXPECT_TRUE(file.is_at(folder / "log"));
  fs::rename(folder / "log", folder / "moved");
  EXPECT_FALSE(file.is_at(folder / "log"));
  EXPECT_TRUE(file.is_at(folder / "moved"));
  write_atomically(folder / "log", "");
  EXPECT_FALSE(file.is_at(folder / "log"));
}

}  // namespace
}  // namespace skyline
