#include "train/cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/device/out_of_memory.h"
#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct TrainWords {
  std::string model = "lenet";
  std::vector<std::string> allocators = {"planned"};
  std::uint64_t capacity = 1 << 20;
  std::int64_t batch_size = 32;
  double rate = 0.1;
  std::filesystem::path file;
  std::vector<std::string> files;
  bool check = true;
};

// Refuses a missing file and a folder.
OptionValue input_file(fs::path& file) {
  return checked(path(file, "FILE"), [&file] {
    if (!fs::exists(file)) throw UsageError("no file '" + file.string() + "'");
    if (fs::is_directory(file)) throw UsageError("'" + file.string() + "' is a folder, not a file");
  });
}

CommandRun declare_train(OptionList& list) {
  auto values = std::make_shared<TrainWords>();
  list.add("-m,--model", choice(values->model, {"mlp", "lenet", "resnet20"}, "model"), "Model");
  list.add("--allocators", choices(values->allocators, {"planned", "best-fit-pool"}, "allocator"),
           "Allocators");
  list.add("--capacity", bytes(values->capacity), "Memory");
  list.add("--batch-size", integer(values->batch_size, 1, kMost), "Samples per step");
  list.add("--rate", number(values->rate, 0, 1), "Learning rate");
  list.add("TRACE", input_file(values->file), "A file");
  list.add("--files", files(values->files), "Several files");
  list.add("--no-check", negated_flag(values->check),
           "A flag with a long description that the help has to break into several lines, all of "
           "which begin in one column");
  return [values](Console& console) {
    console.say("working");
    const nlohmann::ordered_json json = {
        {"model", values->model},       {"allocators", values->allocators},
        {"capacity", values->capacity}, {"batch_size", values->batch_size},
        {"rate", values->rate},         {"files", values->files},
        {"check", values->check}};
    return CommandResult{json_text(json), "model " + values->model + "\n"};
  };
}

template <typename Error>
CommandRun failing(Error error) {
  return [error](Console&) -> CommandResult { throw error; };
}

CommandRun declare_short(OptionList&) {
  return failing(OutOfMemory({.where = "cpu", .requested_bytes = 7}));
}

CommandRun declare_folder(OptionList&) {
  return failing(std::filesystem::filesystem_error(
      "x", "runs", std::make_error_code(std::errc::permission_denied)));
}

CommandRun declare_interrupted(OptionList&) {
  return [](Console&) { return CommandResult{R"({"steps": 3})", "stopped\n", 130}; };
}

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"train", "Train a model", declare_train},
      {"short", "Run out of memory", declare_short},
      {"folder", "Fail at a folder", declare_folder},
      {"interrupted", "Be interrupted", declare_interrupted},
  };
  return table;
}

struct Answer {
  int exit_code;
  std::string output, messages;
};

Answer run(std::vector<const char*> arguments, int help_columns = 80) {
  arguments.insert(arguments.begin(), "skyline");
  std::ostringstream output, messages;
  const int code = run_program(commands(), arguments, {output, messages, {}, help_columns});
  return {code, output.str(), messages.str()};
}

void expect_usage_error(std::vector<const char*> arguments, const std::string& sentence) {
  for (const bool json : {false, true}) {
    if (json) arguments.push_back("--json");
    const Answer outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(outcome.messages, "error: " + sentence + "\n");
  }
}

TEST(Program, PrintsTextOrOneJsonObject) {
  const Answer text = run({"train"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.output, "model lenet\n");
  EXPECT_EQ(text.messages, "working\n");

  const Answer json = run({"train", "--json", "-m", "mlp", "--capacity=8MiB", "--allocators",
                           "best-fit-pool,planned", "--batch-size", "7", "--rate", "1e-3"});
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_EQ(json.messages, "working\n");
  const auto parsed = parsed_json(json.output);
  EXPECT_EQ(parsed, nlohmann::json({{"model", "mlp"},
                                    {"allocators", {"best-fit-pool", "planned"}},
                                    {"capacity", 8388608},
                                    {"batch_size", 7},
                                    {"rate", 0.001},
                                    {"files", nlohmann::json::array()},
                                    {"check", true}}));
}

TEST(Program, TakesJsonBeforeTheCommandToo) {
  EXPECT_TRUE(nlohmann::json::accept(run({"--json", "train"}).output));
}

TEST(Program, SetsFlagsAndListsOfFiles) {
  const auto parsed = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"train", "--json"});
    return parsed_json(run(words).output);
  };
  EXPECT_EQ(parsed({"--no-check"})["check"], false);
  EXPECT_EQ(parsed({"--no-check=false"})["check"], true);
  EXPECT_EQ(parsed({"--files", "a,b"})["files"], (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed({"--files", "a", "b", "--no-check"})["files"],
            (std::vector<std::string>{"a", "b"}));
}

TEST(Program, LetsTheLastOfARepeatedOptionCount) {
  EXPECT_EQ(run({"train", "--model", "mlp", "--model", "resnet20"}).output, "model resnet20\n");
}

TEST(Program, NamesTheNearestCommandAndOption) {
  expect_usage_error({"trian"}, "unknown command 'trian'; did you mean 'train'?");
  expect_usage_error({"trian", "--model", "mlp"}, "unknown command 'trian'; did you mean 'train'?");
  expect_usage_error({"train", "--modle", "mlp"},
                     "unknown option '--modle'; did you mean '--model'?");
  expect_usage_error({"train", "--modle=mlp"}, "unknown option '--modle'; did you mean '--model'?");
  expect_usage_error({"train", "-model", "mlp"},
                     "--model: unknown model 'odel'; known are: mlp, lenet, resnet20");
  expect_usage_error({"train", "--colour"},
                     "unknown option '--colour'; see 'skyline train --help'");
  expect_usage_error({"train", "-x"}, "unknown option '-x'; see 'skyline train --help'");
}

TEST(Program, NamesAllCommandsWhenNoneIsNear) {
  expect_usage_error({"dance"},
                     "unknown command 'dance'; known are: train, short, folder, interrupted");
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_EQ(run({}).messages, "error: no command is given; see 'skyline --help'\n");
}

TEST(Program, PutsAnUnknownFlagBeforeTheDamageItDid) {
  // "8" became the positional argument, a file that does not exist.
  expect_usage_error({"train", "--batchsize", "8"},
                     "unknown option '--batchsize'; did you mean '--batch-size'?");
}

TEST(Program, RefusesBadValuesByName) {
  expect_usage_error({"train", "--model", "lenett"},
                     "--model: unknown model 'lenett'; did you mean 'lenet'?");
  expect_usage_error({"train", "--allocators", "planned,best-fit"},
                     "--allocators: unknown allocator 'best-fit'; did you mean 'best-fit-pool'?");
  expect_usage_error({"train", "--allocators", "planned,planned"},
                     "--allocators: allocator 'planned' is given twice");
  expect_usage_error({"train", "--capacity", "8MB"},
                     "--capacity: invalid size '8MB': use KiB, MiB or GiB; did you mean '8MiB'?");
  expect_usage_error({"train", "--batch-size", "0"},
                     "--batch-size: 0 is out of range: it must be at least 1");
  expect_usage_error({"train", "--batch-size", "-3"},
                     "--batch-size: -3 is out of range: it must be at least 1");
  expect_usage_error({"train", "--batch-size", "9223372036854775808"},
                     "--batch-size: 9223372036854775808 is out of range: it must be at least 1");
  expect_usage_error({"train", "--batch-size", "8.5"}, "--batch-size: '8.5' is not a whole number");
  expect_usage_error({"train", "--batch-size", "many"},
                     "--batch-size: 'many' is not a whole number");
  expect_usage_error({"train", "--rate", "2"}, "--rate: 2 is out of range: it must be from 0 to 1");
  expect_usage_error({"train", "--rate", "nan"},
                     "--rate: nan is out of range: it must be from 0 to 1");
  expect_usage_error({"train", "--no-check=many"}, "--no-check: invalid value 'many'");
  expect_usage_error({"train", "--rate", "fast"}, "--rate: 'fast' is not a number");
  expect_usage_error({"train", "no-such.csv"}, "TRACE: no file 'no-such.csv'");
  expect_usage_error({"train", "/tmp"}, "TRACE: '/tmp' is a folder, not a file");
}

TEST(Program, RefusesMissingValuesAndStrayWords) {
  EXPECT_EQ(run({"train", "--model"}).messages, "error: --model needs a value\n");
  EXPECT_EQ(run({"train", "--model"}).exit_code, 2);
  const TemporaryFolder folder;
  const std::string file = folder / "trace.csv";
  std::ofstream(file) << "id,lower,upper,size\n";
  EXPECT_EQ(run({"train", file.c_str()}).exit_code, 0);
  expect_usage_error({"train", file.c_str(), "stray"},
                     "'skyline train' takes no 'stray'; see 'skyline train --help'");
}

TEST(Program, ExitsWithOneAndTheSentenceOfAFailure) {
  for (const bool json : {false, true}) {
    std::vector<const char*> arguments = {"short"};
    if (json) arguments.push_back("--json");
    const Answer outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.output, "");
    EXPECT_THAT(outcome.messages, HasSubstr("error: [cpu] out of memory"));
  }
  EXPECT_EQ(run({"folder"}).messages, "error: runs: Permission denied\n");
}

TEST(Program, PrintsTheResultOfAnInterruptedCommand) {
  const Answer outcome = run({"interrupted", "--json"});
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(parsed_json(outcome.output)["steps"], 3);
}

TEST(Program, HelpShowsCommandsOptionsAndDefaults) {
  const Answer all = run({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.messages, IsEmpty());
  for (const Command& command : commands()) {
    EXPECT_THAT(all.output, HasSubstr(command.name));
    EXPECT_THAT(all.output, HasSubstr(command.summary));
    EXPECT_EQ(run({command.name.c_str(), "--help"}).exit_code, 0);
  }
  const Answer train = run({"train", "--help"});
  for (const char* part : {"--model", "mlp, lenet, resnet20", "lenet", "--batch-size", "32", "1MiB",
                           "--json", "TRACE"}) {
    EXPECT_THAT(train.output, HasSubstr(part));
  }
}

TEST(Program, HelpStaysWithin80Columns) {
  std::istringstream help(run({"train", "--help"}).output);
  for (std::string line; std::getline(help, line);) EXPECT_LE(display_width(line), 80u) << line;
  EXPECT_THAT(help.str(),
              HasSubstr("help has\n                              to break into several lines"));
  EXPECT_THAT(help.str(), HasSubstr("--no-check  "));
}

// The list of commands and its footer wrap, too. "NAME,…" has more bytes than characters.
TEST(Program, HelpAlignsItsColumnsOnANarrowTerminal) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"--help"}, {"train", "--help"}}) {
    const std::string text = run(words, 60).output;
    std::istringstream help(text.substr(text.find("\n\n")));
    for (std::string line; std::getline(help, line);) {
      EXPECT_LE(display_width(line), 60u) << line;
      for (const char* begin : {"Allocators:", "Several files", "Memory", "Learning rate"}) {
        const std::size_t at = line.find(begin);
        if (at == line.npos) continue;
        EXPECT_EQ(display_width(line.substr(0, at)), 30u) << line;
      }
    }
  }
}

TEST(Program, HelpIsACommandToo) {
  EXPECT_EQ(run({"help"}).output, run({"--help"}).output);
  EXPECT_EQ(run({"help", "train"}).output, run({"train", "--help"}).output);
  expect_usage_error({"help", "trian"}, "unknown command 'trian'; did you mean 'train'?");
}

TEST(Program, PrintsItsVersion) {
  const Answer answer = run({"--version"});
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_THAT(answer.output, testing::MatchesRegex("skyline [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, RefusesASecondCommand) {
  expect_usage_error({"short", "train"},
                     "'skyline short' takes no 'train'; see 'skyline short --help'");
}

TEST(Program, QuietLeavesOutMessagesButNotErrors) {
  const Answer quiet = run({"train", "--quiet"});
  EXPECT_EQ(quiet.output, "model lenet\n");
  EXPECT_EQ(quiet.messages, "");
  EXPECT_THAT(run({"short", "--quiet"}).messages, HasSubstr("error: "));
}

TEST(Program, RefusesAnUnknownCommandThoughHelpIsAskedFor) {
  EXPECT_EQ(run({"trian", "--help"}).exit_code, 2);
}

TEST(Program, SaysWhenStandardOutputIsFull) {
  for (const char* word : {"train", "--help", "--version"}) {
    std::ofstream full("/dev/full");
    std::ostringstream messages;
    const std::vector<const char*> arguments = {"skyline", word};
    EXPECT_EQ(run_program(commands(), arguments, {full, messages, {}}), 1);
    EXPECT_THAT(messages.str(), EndsWith("error: cannot write to standard output\n"));
  }
}

}  // namespace
}  // namespace skyline
