#include "train/checkpoints/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tests/train/checkpoints/file_size_limit.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(AtomicFileTest, AppearsWithCommit) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  {
    AtomicFile file(path);
    file.write("one ");
    file.write("two");
    EXPECT_FALSE(fs::exists(path));
    file.commit();
  }
  EXPECT_EQ(read_file(path), "one two");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFileTest, LeavesTheOldFileAndNoTemporaryWithoutCommit) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  write_atomically(path, "old");
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFileTest, LeavesFilesOfTheUserThatLookTemporary) {
  const TemporaryFolder folder;
  for (const char* name : {"page.html.tmp", "page.html~", ".page.html.swp"}) {
    write_atomically(folder / name, "mine");
  }
  write_atomically(folder / "page.html", "page");
  for (const char* name : {"page.html.tmp", "page.html~", ".page.html.swp"}) {
    EXPECT_EQ(read_file(folder / name), "mine") << name;
  }
}

TEST(AtomicFileTest, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  write_atomically(path, "old");
  try {
    const FileSizeLimit limit(1000);
    write_atomically(path, std::string(5000, 'x'));
    FAIL() << "5000 bytes were written past a limit of 1000";
  } catch (const WriteError& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.error_number(), EFBIG);
    EXPECT_EQ(error.what(), "cannot write " + path.string() + ": File too large");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

// Opening the pipe would block, and following the link would write into another file.
TEST(AtomicFileTest, TakesAwayWhateverHasTheTemporaryName) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt", temporary = path.string() + std::string(kTemporaryEnding);
  ASSERT_EQ(mkfifo(temporary.c_str(), 0600), 0);
  write_atomically(path, "one");
  EXPECT_EQ(read_file(path), "one");
  write_atomically(folder / "other", "other");
  fs::create_symlink("other", temporary);
  write_atomically(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_EQ(read_file(folder / "other"), "other");
  EXPECT_EQ(files_in(folder.path()), 2u);
}

// A rename by root would replace the device by a file.
TEST(AtomicFileTest, KeepsDevicesAndLinks) {
  try {
    write_atomically("/dev/full", "text");
    FAIL() << "/dev/full took bytes";
  } catch (const WriteError& error) {
    EXPECT_STREQ(error.what(), "cannot write /dev/full: No space left on device");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  write_atomically("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));

  const TemporaryFolder folder;
  const fs::path target = folder / "target.txt", link = folder / "link.txt";
  write_atomically(target, "old");
  fs::create_symlink("target.txt", link);
  write_atomically(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(target), "new");
  EXPECT_EQ(files_in(folder.path()), 2u);
  EXPECT_THROW(write_atomically(folder.path(), "text"), WriteError) << "a folder is not a file";
}

TEST(AtomicFileTest, NamesAMissingFolder) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_atomically(folder / "none/a.txt", "text"), WriteError);
}

TEST(AtomicFileTest, RefusesToReplaceAFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  EXPECT_THROW(write_atomically(folder / "a", "text"), WriteError);
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(ReadFile, ReadsWholeFilesAndNamesMissingOnes) {
  const TemporaryFolder folder;
  const std::string content(3 << 20, 'x');
  write_atomically(folder / "big", content);
  write_atomically(folder / "empty", "");
  EXPECT_TRUE(read_file(folder / "big") == content);
  EXPECT_EQ(read_file(folder / "empty"), "");
  const std::string missing = folder / "none";
  EXPECT_THAT([&] { read_file(missing); },
              testing::ThrowsMessage<std::runtime_error>("cannot read " + missing +
                                                         ": No such file or directory"));
}

TEST(ReadFile, RefusesWhatIsNoRegularFileAndNeverBlocks) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe", link = folder / "link", loop = folder / "loop";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("nowhere", link);
  fs::create_symlink("loop", loop);
  for (const auto& [path, cause] :
       {std::pair(pipe, "it is a pipe, not a file"),
        std::pair(folder.path().string(), "it is a folder, not a file"),
        std::pair(std::string("/dev/zero"), "it is a device, not a file"),
        std::pair(link, "it is a link to nowhere, which does not exist"),
        std::pair(loop, "Too many levels of symbolic links")}) {
    EXPECT_THAT([&] { read_file(path); },
                testing::ThrowsMessage<std::runtime_error>("cannot read " + path + ": " + cause));
  }
}

}  // namespace
}  // namespace skyline
