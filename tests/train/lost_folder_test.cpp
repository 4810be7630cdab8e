// Someone moves, removes or damages a run's folder while the run writes to it or before it resumes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/train/checkpoints/file_size_limit.h"
#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/run/signalling_buffer.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"
#include "train/trainer.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// 2 epochs of 4 steps.
const std::vector<std::string> kTrain = {
    "train",        "--model", "lenet",     "--images", "16",       "--epochs",       "2",
    "--batch-size", "4",       "--threads", "1",        "--config", few_test_images()};

class LostFolder : public ::testing::Test {
 protected:
  // Runs the program; at the message `text` it acts. Returns exit code and messages.
  Outcome run(std::vector<std::string> words, const std::string& text = "",
              std::function<void()> act = {}) {
    std::vector<const char*> raw = {"skyline"};
    for (const std::string& word : words) raw.push_back(word.c_str());
    tests::ActingBuffer buffer(text, std::move(act));
    std::ostream messages(&buffer);
    std::ostringstream output;
    Outcome outcome;
    outcome.exit_code = run_program(all_commands(), raw, {output, messages, {}});
    outcome.messages = buffer.str();
    return outcome;
  }
  Outcome train(const fs::path& out, const std::string& text = "", std::function<void()> act = {}) {
    std::vector<std::string> words = kTrain;
    words.insert(words.end(), {"--output", out.string()});
    return run(words, text, std::move(act));
  }
  Outcome resume(const fs::path& folder) { return run({"train", "--resume", folder.string()}); }

  // Both runs ended alike, and logged the same losses.
  void expect_equal_ends(const fs::path& a, const fs::path& b) {
    const Checkpoint first = load_checkpoint(a).checkpoint, second = load_checkpoint(b).checkpoint;
    EXPECT_EQ(host_copies(first.weights), host_copies(second.weights));
    EXPECT_EQ(host_copies(first.state), host_copies(second.state));
    EXPECT_EQ(first.position.step, second.position.step);
    EXPECT_EQ(losses(a), losses(b));
  }
  static std::vector<double> losses(const fs::path& run) {
    std::ifstream log(run / "log.jsonl");
    std::vector<double> values;
    for (std::string line; std::getline(log, line);) values.push_back(parsed_json(line)["loss"]);
    return values;
  }

  const TemporaryFolder folder_;
  const fs::path run_ = folder_ / "run", moved_ = folder_ / "moved", whole_ = folder_ / "whole";
};

// In a step, in an evaluation, after an epoch, and after the last one.
TEST_F(LostFolder, AMovedRunIsSavedWhereItIsAndGoesOnThere) {
  ASSERT_EQ(train(whole_).exit_code, 0);
  for (const auto& [moment, step] :
       {std::pair("switched to the plan", 2), std::pair("planned the evaluation", 4),
        std::pair("epoch 1:", 4), std::pair("epoch 2:", 8)}) {
    SCOPED_TRACE(moment);
    const Outcome cut = train(run_, moment, [&] { fs::rename(run_, moved_); });
    EXPECT_EQ(cut.exit_code, 1);
    EXPECT_THAT(
        cut.messages,
        HasSubstr("error: the run folder " + run_.string() + " was moved to " + moved_.string() +
                  " during the run; saved there after step " + std::to_string(step) +
                  ". Continue with: skyline train --resume " + moved_.string()));
    EXPECT_FALSE(fs::exists(run_)) << "no other folder of its name was made";
    EXPECT_EQ(load_checkpoint(moved_).checkpoint.position.step, step);
    EXPECT_EQ(resume(moved_).exit_code, 0);
    expect_equal_ends(moved_, whole_);
    fs::remove_all(moved_);
  }
}

TEST_F(LostFolder, ARemovedRunFails) {
  for (const char* moment : {"switched to the plan", "planned the evaluation", "epoch 2:"}) {
    SCOPED_TRACE(moment);
    const Outcome cut = train(run_, moment, [&] { fs::remove_all(run_); });
    EXPECT_EQ(cut.exit_code, 1);
    EXPECT_THAT(cut.messages, HasSubstr("error: the run folder " + run_.string() +
                                        " was removed during the run; nothing of it can"));
    EXPECT_FALSE(fs::exists(run_));
  }
}

TEST_F(LostFolder, ARunWithoutItsLogIsSavedAndFails) {
  const Outcome cut = train(run_, "switched to the plan", [&] { fs::remove(run_ / "log.jsonl"); });
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.messages, HasSubstr("log.jsonl was moved, replaced or removed"));
  EXPECT_EQ(load_checkpoint(run_).checkpoint.position.step, 2);
  EXPECT_EQ(resume(run_).exit_code, 0);
  EXPECT_EQ(losses(run_).size(), 6u) << "steps 3 to 8";
  const Outcome again = run({"train", "--resume", run_.string()});
  EXPECT_EQ(again.exit_code, 0) << again.messages;
}

// Too small a limit for weights, but not for the log.
TEST_F(LostFolder, ARunWhoseFirstCheckpointFailedStartsAgain) {
  ASSERT_EQ(train(whole_).exit_code, 0);
  {
    const FileSizeLimit limit(20'000);
    const Outcome full = train(run_);
    EXPECT_EQ(full.exit_code, 1);
    EXPECT_THAT(full.messages, AllOf(HasSubstr("cannot write " + (run_ / "checkpoints").string()),
                                     HasSubstr("File too large")));
  }
  EXPECT_EQ(losses(run_).size(), 4u);
  const Outcome refused = train(run_);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.messages, HasSubstr("to continue its run, give --resume"));
  const Outcome again = resume(run_);
  EXPECT_EQ(again.exit_code, 0) << again.messages;
  EXPECT_THAT(again.messages, HasSubstr("has no checkpoint: starting again from step 1"));
  expect_equal_ends(run_, whole_);
}

TEST_F(LostFolder, AnEditedTableOfEpochsDoesNotStopARun) {
  ASSERT_EQ(train(run_, "planned the evaluation", [] { std::raise(SIGTERM); }).exit_code, 143);
  std::ofstream(run_ / "epochs.csv") << "Epoch;Loss\n";
  const Outcome resumed = resume(run_);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.messages;
  EXPECT_THAT(resumed.messages, HasSubstr("so it is now epochs-1.csv"));
}

TEST_F(LostFolder, APipeInThePlaceOfAFileOfACheckpointIsNamed) {
  ASSERT_EQ(train(run_).exit_code, 0);
  for (const char* name : {"weights.safetensors", "SHA256SUMS"}) {
    for (const auto& entry : fs::directory_iterator(run_ / "checkpoints")) {
      if (entry.is_symlink()) continue;
      fs::remove(entry.path() / name);
      ASSERT_EQ(mkfifo((entry.path() / name).c_str(), 0600), 0);
    }
    const Outcome resumed = resume(run_);
    EXPECT_EQ(resumed.exit_code, 1);
    EXPECT_THAT(resumed.messages, AllOf(HasSubstr(name), HasSubstr("it is a pipe, not a file")));
  }
}

TEST_F(LostFolder, APipeInThePlaceOfArgumentsOrALogIsNamed) {
  ASSERT_EQ(train(run_).exit_code, 0);
  fs::remove(run_ / "log.jsonl");
  ASSERT_EQ(mkfifo((run_ / "log.jsonl").c_str(), 0600), 0);
  const Outcome log = resume(run_);
  EXPECT_EQ(log.exit_code, 1);
  EXPECT_THAT(log.messages, AllOf(HasSubstr("log.jsonl"), HasSubstr("a pipe, not a file")));
  fs::remove_all(run_ / "checkpoints");
  fs::remove(run_ / "arguments.json");
  ASSERT_EQ(mkfifo((run_ / "arguments.json").c_str(), 0600), 0);
  const Outcome arguments = resume(run_);
  EXPECT_EQ(arguments.exit_code, 1);
  EXPECT_THAT(arguments.messages,
              AllOf(HasSubstr("arguments.json"), HasSubstr("a pipe, not a file")));
}

// A checkpoint holds the arguments, too.
TEST_F(LostFolder, LostArgumentsAreWrittenAnew) {
  ASSERT_EQ(train(run_).exit_code, 0);
  const std::string arguments = read_file(run_ / "arguments.json");
  for (const char* content : {"", "{\"model\": \"len", "7"}) {
    write_atomically(run_ / "arguments.json", content);
    if (*content == '\0') fs::remove(run_ / "arguments.json");
    const Outcome resumed = resume(run_);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.messages;
    EXPECT_THAT(resumed.messages, HasSubstr("arguments.json is missing or damaged"));
    EXPECT_EQ(read_file(run_ / "arguments.json"), arguments);
  }
}

// `latest` says what to try first, nothing more.
TEST_F(LostFolder, AnyLatestIsReplacedOrNamed) {
  ASSERT_EQ(train(whole_).exit_code, 0);
  const std::vector<std::function<void(const fs::path&)>> kinds = {
      [](const fs::path& at) { std::ofstream(at) << "step-000000008"; },
      [](const fs::path& at) { fs::create_symlink("latest", at); },
      [](const fs::path& at) { fs::create_symlink("nowhere", at); },
      [](const fs::path& at) { mkfifo(at.c_str(), 0600); }};
  for (const auto& make : kinds) {
    fs::remove_all(run_);
    fs::copy(whole_, run_, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::remove(run_ / "checkpoints/latest");
    make(run_ / "checkpoints/latest");
    EXPECT_EQ(run({"train", "--resume", run_.string(), "--epochs", "3"}).exit_code, 0);
    EXPECT_THAT(fs::read_symlink(run_ / "checkpoints/latest").string(),
                testing::StartsWith("step-000000012"));
  }
}

}  // namespace
}  // namespace skyline
