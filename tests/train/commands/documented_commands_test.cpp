// Runs the commands that stand in README files and the labs' pages, as a reader would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/data/images/image_files.h"
#include "tests/train/images/idx_folder_files.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/patterns.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

constexpr const char* kFindsTheProgram = "export PATH=$PWD/build/release/train:$PATH";

fs::path source(const std::string& file) { return fs::path(SKYLINE_SOURCE_DIR) / file; }

// The first group of each match, or its second.
Lines groups(const std::string& text, const std::string& pattern) {
  Lines found;
  for (const Match& match : matches(text, pattern)) {
    found.push_back(match[1].empty() && match.size() > 2 ? match[2] : match[1]);
  }
  return found;
}

// Returns the commands that call the program or set the shell's path, in a page's order: lines of a
// block, with or without a prompt, and words in backquotes.
Lines commands_of(const std::string& page) {
  Lines commands = groups(page,
                          "\n    (?:\\$ )?((?:skyline|export|build/release/train/skyline) [^\n]*)"
                          "|`((?:skyline|export) [^`]*)`");
  for (std::string& command : commands) std::ranges::replace(command, '\n', ' ');
  return commands;
}

// Returns what a page shows of the commands' output: all lines of its blocks that are no commands.
Lines shown_output_of(const std::string& page) {
  return groups(page, "\n    (?!(?:\\$ )?(?:skyline|export|cmake) )([^\n]+)");
}

// A folder with the program where a build leaves it. Training is one small step, whatever the
// commands leave open.
class DocumentedCommands : public testing::Test {
 protected:
  DocumentedCommands() {
    const fs::path program = folder_ / "build/release/train/skyline";
    tests::write_text(folder_ / "small.json", R"({"steps": 1, "batch_size": 4, "test_images": 8})");
    tests::write_text(
        program,
        "#!/bin/bash\n"
        "if [ \"$1\" = train ]; then shift; set -- train --config small.json \"$@\"; fi\n"
        "exec '" SKYLINE_PROGRAM "' \"$@\"\n");
    fs::permissions(program, fs::perms::owner_all);
  }

  // Runs the commands in one shell that knows no other build of the program. Returns what they
  // print, each behind the command.
  std::string run(const Lines& commands) {
    std::ofstream script(folder_ / "commands.bash");
    for (const std::string& command : commands) script << command << '\n';
    script.close();
    const std::string line =
        "cd '" + folder_.path().string() + "' && PATH=/usr/bin:/bin bash -ex commands.bash 2>&1";
    std::string output;
    FILE* const shell = popen(line.c_str(), "r");
    for (int c; (c = std::fgetc(shell)) != EOF;) output += static_cast<char>(c);
    EXPECT_EQ(pclose(shell), 0) << output;
    return output;
  }

  const TemporaryFolder folder_;
};

TEST_F(DocumentedCommands, OfTheLabsPrintWhatThePagesShow) {
  std::string pages = read_file(source("train/labs/README.md"));
  for (const fs::directory_entry& entry : fs::directory_iterator(source("train/labs/exercises"))) {
    if (entry.path().extension() == ".md") pages += read_file(entry.path());
  }
  const Lines commands = commands_of(pages), shown = shown_output_of(pages);
  EXPECT_GT(commands.size(), 6u);
  EXPECT_GT(shown.size(), 6u);
  const std::string output = run(commands);
  for (const std::string& line : shown) EXPECT_THAT(output, HasSubstr(line));
}

TEST_F(DocumentedCommands, OfTheFirstRunAndOfOwnDataWork) {
  tests::write_image_folder(folder_ / "pets", 4, 2);
  tests::write_file(folder_ / "new.jpg", tests::baseline_jpeg());
  tests::write_file(folder_ / "photos/old.jpg", tests::baseline_jpeg());
  tests::write_idx_folder(folder_ / "DIR", 12, 6);
  std::string images, english, french;
  for (const char* number : {"0", "1", "2", "3"}) {
    images += std::string("pets/train/blue/") + number + ".png 0\npets/train/red ones/" + number +
              ".png 1\n";
    english += "one two\nthree\n";
    french += "un deux\ntrois\n";
  }
  for (const char* name : {"A", "B"}) {
    tests::write_text(folder_ / name, images);
    tests::write_text(folder_ / (std::string(name) + ".en"), english);
    tests::write_text(folder_ / (std::string(name) + ".fr"), french);
  }
  std::string verse;
  while (verse.size() < 1000) verse += "ROMEO: is the day so young?\n";
  tests::write_text(folder_ / "input.txt", verse);
  const std::string page = read_file(source("README.md"));
  const std::size_t start = page.find("\n## A first run\n"), end = page.find("\n## The rooms\n");
  const Lines commands = commands_of(page.substr(start, end - start));
  EXPECT_GT(commands.size(), 12u);
  run(commands);
}

// A reader who begins with any page learns first how a shell finds the program.
TEST(DocumentedPages, SayHowTheProgramIsFoundBeforeTheyNameIt) {
  for (const char* name :
       {"README.md", "data/README.md", "framework/README.md", "memory/README.md", "train/README.md",
        "train/labs/README.md", "tests/benchmarks/README.md"}) {
    const Lines commands = commands_of(read_file(source(name)));
    ASSERT_THAT(commands, testing::Not(IsEmpty())) << name;
    EXPECT_THAT(commands.front(), testing::StartsWith(kFindsTheProgram)) << name;
  }
  EXPECT_THAT(read_file(source("train/demo.sh")),
              HasSubstr("export PATH=$PWD/build/release/train:\\$PATH"));
}

// A link, or a path that begins with a room: from the page's folder or from the root.
TEST(DocumentedPages, NameFilesThatExist) {
  std::vector<fs::path> pages = {source("README.md")};
  std::string rooms;
  for (const char* room : {"data", "framework", "layers", "memory", "models", "tests", "train"}) {
    rooms += (rooms.empty() ? "" : "|") + std::string(room);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source(room))) {
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
  }
  std::size_t named = 0;
  for (const fs::path& page : pages) {
    for (const std::string& file :
         groups(read_file(page),
                "\\]\\(([\\w./-]+)(?:#[^)]*)?\\)|[\\s`(]((?:" + rooms + ")/[\\w./-]*\\w)")) {
      ++named;
      EXPECT_TRUE(fs::exists(source(file)) || fs::exists(page.parent_path() / file))
          << page << " names " << file;
    }
  }
  EXPECT_GT(named, 100u);
}

}  // namespace
}  // namespace skyline
