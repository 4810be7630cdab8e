// The script of `skyline completion`, run by bash and zsh.

#include "train/cli/cli.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
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
  static std::vector<std::string> methods;
  list.add("PAPER", choice(paper, {"olla", "pgmo"}, "paper"), "Paper");
  list.add("--methods", choices(methods, {"fast", "slow", "none"}, "method"), "Methods");
  return [](Console&) { return CommandResult{}; };
}

CommandRun declare_files(OptionList& list) {
  static std::filesystem::path run;
  static std::vector<std::filesystem::path> images;
  static bool strict = false;
  list.add("RUN", path(run, "DIR"), "Run");
  list.add("IMAGE", paths(images, "FILE"), "Images");
  list.add("--strict", flag(strict), "Strict");
  return [](Console&) { return CommandResult{}; };
}

const Command kCommands[] = {{"train", "Train", declare_named},
                             {"reproduce", "Reproduce", declare_positional},
                             {"predict", "Predict", declare_files}};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* shell = popen(command.c_str(), "r");
  for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(shell), 0) << command;
  return text;
}

class Completion : public ::testing::Test {
 protected:
  // Returns what bash offers for the last of these words, a line each.
  std::string offered(const std::string& words) {
    const std::filesystem::path script = folder_ / "complete.bash";
    std::ofstream(script) << completion_script(kCommands, kBash) << "COMP_WORDS=(skyline " << words
                          << ")\n"
                          << "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                          << "_skyline; printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    return output_of("bash " + script.string());
  }

  const TemporaryFolder folder_;
};

TEST_F(Completion, OffersCommandsOptionsAndNames) {
  EXPECT_EQ(offered("''"), "train\nreproduce\npredict\nhelp\n--version\n--help\n");
  EXPECT_EQ(offered("tr"), "train\n");
  EXPECT_EQ(offered("help re"), "reproduce\n");
  EXPECT_EQ(offered("train --l"), "--lr\n--learning-rate\n");
  EXPECT_EQ(offered("train --model ''"), "lenet\nmlp\n");
  EXPECT_EQ(offered("train -m m"), "mlp\n");
  EXPECT_EQ(offered("reproduce p"), "pgmo\n");
  EXPECT_EQ(offered("train --model = ''"), "lenet\nmlp\n") << "bash cuts words at =";
  EXPECT_EQ(offered("train --model ="), "lenet\nmlp\n");
  EXPECT_EQ(offered("reproduce --methods fast,s"), "fast,slow\n");
}

// No word is offered where the shell completes files.
TEST_F(Completion, LeavesFilesToTheShell) {
  EXPECT_EQ(offered("train --data ./"), "\n");
  EXPECT_EQ(offered("train --lr ''"), "\n") << "the value of an option";
  EXPECT_EQ(offered("predict ''"), "\n");
  EXPECT_EQ(offered("predict run ''"), "\n");
  EXPECT_EQ(offered("predict run a.png --strict ''"), "\n");
  EXPECT_EQ(offered("predict run --s"), "--strict\n");
  EXPECT_EQ(offered("train ''"), "-m\n--model\n--lr\n--learning-rate\n--json\n--quiet\n--help\n");
}

// Types into an interactive zsh and reads what it writes there.
class ZshCompletion : public Completion {
 protected:
  void SetUp() override {
    if (std::system("zsh -fc 'zmodload zsh/zpty' 2>/dev/null") != 0) {
      GTEST_SKIP() << "no zsh with the module zsh/zpty";
    }
    std::ofstream(folder_ / "complete.zsh") << completion_script(kCommands, kZsh);
    std::ofstream(folder_ / "picture.png");
  }
  // Returns the line after these words and a tab, as `print -r` shows it.
  std::string completed(const std::string& words) {
    const std::string folder = folder_.path().string();
    std::ofstream(folder_ / "type.zsh")
        << "zmodload zsh/zpty; cd " << folder << "\n"
        << "zpty shell 'HOME=" << folder << " TERM=dumb zsh -f -i'\n"
        << "zpty -w shell \"PS1= ; source complete.zsh\"\n"
        << "zpty -w shell \"skyline() { print -r -- GOT:\\$*: }\"\n"
        << "zpty -w shell 'print READY-$((1+1))'; zpty -r -m shell dropped '*READY-2*'\n"
        << "zpty -n -w shell $'" << words << "\\t\\n'\n"
        << "zpty -r -m shell text '*GOT:*:*'\n"
        << "print -r -- \"${${text##*GOT:}%%:*}\"\n";
    return output_of("timeout 60 zsh -f " + (folder_ / "type.zsh").string());
  }
};

TEST_F(ZshCompletion, CompletesCommandsOptionsNamesAndFiles) {
  EXPECT_EQ(completed("skyline pre"), "predict\n");
  EXPECT_EQ(completed("skyline train --mod"), "train --model\n");
  EXPECT_EQ(completed("skyline train --model le"), "train --model lenet\n");
  EXPECT_EQ(completed("skyline reproduce --methods fast,s"), "reproduce --methods fast,slow\n");
  EXPECT_EQ(completed("skyline predict run pic"), "predict run picture.png\n");
}

}  // namespace
}  // namespace skyline
