// The script of `skyline completion`, run by bash.

#include "train/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

CommandRun declare_named(OptionList& list) {
  static std::string model = "lenet";
  static double rate = 0;
  list.add("-m,--model", choice(model, {"lenet", "mlp"}, "model"), "Model");
  list.add("--lr,--learning-rate", number(rate, 0, 1), "Rate");
  return [](Console&) { return CommandResult{}; };
}

CommandRun declare_positional(OptionList& list) {
  static std::string paper = "olla";
  list.add("PAPER", choice(paper, {"olla", "pgmo"}, "paper"), "Paper");
  return [](Console&) { return CommandResult{}; };
}

const Command kCommands[] = {{"train", "Train", declare_named},
                             {"reproduce", "Reproduce", declare_positional}};

class Completion : public ::testing::Test {
 protected:
  // Returns what bash offers for the last of these words, a line each.
  std::string offered(const std::string& words) {
    const std::filesystem::path script = folder_ / "complete.bash";
    std::ofstream(script) << completion_script(kCommands, kBash) << "COMP_WORDS=(skyline " << words
                          << ")\n"
                          << "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                          << "_skyline; printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    std::string text;
    FILE* shell = popen(("bash " + script.string()).c_str(), "r");
    for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) text += static_cast<char>(c);
    EXPECT_EQ(pclose(shell), 0);
    return text;
  }

  const TemporaryFolder folder_;
};

TEST_F(Completion, OffersCommandsOptionsAndNames) {
  EXPECT_EQ(offered("''"), "train\nreproduce\nhelp\n--version\n--help\n");
  EXPECT_EQ(offered("tr"), "train\n");
  EXPECT_EQ(offered("help re"), "reproduce\n");
  EXPECT_EQ(offered("train --l"), "--lr\n--learning-rate\n");
  EXPECT_EQ(offered("train --model ''"), "lenet\nmlp\n");
  EXPECT_EQ(offered("train -m m"), "mlp\n");
  EXPECT_EQ(offered("reproduce p"), "pgmo\n");
  EXPECT_EQ(offered("train --data ./"), "\n") << "files are the shell's";
}

TEST_F(Completion, ZshRunsTheScriptOfBash) {
  EXPECT_THAT(completion_script(kCommands, kZsh), testing::HasSubstr("bashcompinit"));
  EXPECT_THAT(completion_script(kCommands, kZsh),
              testing::EndsWith(completion_script(kCommands, kBash)));
}

}  // namespace
}  // namespace skyline
