#include "train/checkpoints/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/train/checkpoints/file_size_limit.h"
#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A run of two epochs, three steps each.
RunDirectory six_steps(const fs::path& folder) {
  RunDirectory run = RunDirectory::create(folder, "lenet");
  run.write_arguments({{"model", "lenet"}});
  for (int step = 1; step <= 6; ++step) {
    run.log_step({{"step", step}, {"loss", 0.5}});
    if (step % 3 == 0) run.log_epoch({{"epoch", step / 3}, {"top1", 0.25 * step}});
  }
  return run;
}

constexpr const char* kSixEpochs = "epoch,top1\n1,0.75\n2,1.5\n";

TEST(RunDirectoryTest, NamesFoldersAfterModelAndTimeAndNeverTwice) {
  const TemporaryFolder folder;
  std::set<fs::path> paths;
  for (int i = 0; i < 5; ++i) {
    const RunDirectory run = RunDirectory::create({}, "lenet", folder / "runs");
    EXPECT_THAT(run.path().filename().string(), testing::MatchesRegex("lenet-.*-.*-[1-5]"));
    paths.insert(run.path());
  }
  EXPECT_EQ(paths.size(), 5u);
}

TEST(RunDirectoryTest, NeverOverwritesAnotherRun) {
  const TemporaryFolder folder;
  const fs::path out = folder / "deep/run";
  { six_steps(out); }
  EXPECT_THAT([&] { RunDirectory::create(out, "lenet"); },
              ThrowsMessage<UsageError>(HasSubstr("is not empty")));
  EXPECT_EQ(read_file(out / "epochs.csv"), kSixEpochs);
  std::ofstream(folder / "file") << "x";
  EXPECT_THAT([&] { RunDirectory::create(folder / "file", "lenet"); },
              ThrowsMessage<UsageError>(HasSubstr("is a file")));
}

TEST(RunDirectoryTest, WritesStepsThroughAtOnce) {
  const TemporaryFolder folder;
  const RunDirectory run = six_steps(folder / "run");
  EXPECT_THAT(read_file(run.path() / "log.jsonl"),
              testing::StartsWith("{\"step\":1,\"loss\":0.5}\n{\"step\":2,"));
  EXPECT_EQ(parsed_json(read_file(run.path() / "arguments.json"))["model"], "lenet");
  EXPECT_EQ(read_file(run.path() / "epochs.csv"), kSixEpochs);
}

TEST(RunDirectoryTest, QuotesCellsAndLeavesUnknownOnesEmpty) {
  const TemporaryFolder folder;
  RunDirectory run = RunDirectory::create(folder / "run", "lenet");
  run.log_epoch({{"epoch", 1}, {"note", "a, \"b\""}, {"top1", nullptr}});
  EXPECT_EQ(read_file(run.path() / "epochs.csv"), "epoch,note,top1\n1,\"a, \"\"b\"\"\",\n");
  EXPECT_THROW(run.log_epoch({{"epoch", 2}}), std::logic_error);
}

TEST(RunDirectoryTest, ResumeCutsWhatCameAfterTheCheckpoint) {
  const TemporaryFolder folder;
  { six_steps(folder / "run"); }
  std::ofstream(folder / "run/log.jsonl", std::ios::app) << "{\"step\":7,\"lo";  // torn
  {
    RunDirectory run = RunDirectory::resume(folder / "run", 4, 1);
    run.log_step({{"step", 5}});
    run.log_epoch({{"epoch", 2}, {"top1", 9}});
  }
  EXPECT_EQ(read_file(folder / "run/log.jsonl"),
            "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.5}\n{\"step\":3,\"loss\":0.5}\n"
            "{\"step\":4,\"loss\":0.5}\n{\"step\":5}\n");
  EXPECT_EQ(read_file(folder / "run/epochs.csv"), "epoch,top1\n1,0.75\n2,9\n");
}

TEST(RunDirectoryTest, ResumeCutsOffATornLine) {
  const TemporaryFolder folder;
  { six_steps(folder / "run"); }
  const std::string whole = read_file(folder / "run/log.jsonl");
  std::ofstream(folder / "run/log.jsonl", std::ios::app) << "{\"step\":7,\"lo";
  { RunDirectory::resume(folder / "run", 100, 2); }
  EXPECT_EQ(read_file(folder / "run/log.jsonl"), whole);
}

TEST(RunDirectoryTest, ResumeNeedsARun) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { RunDirectory::resume(folder.path(), 0, 0); },
              ThrowsMessage<UsageError>(HasSubstr("arguments.json is missing")));
  EXPECT_THROW(RunDirectory::resume(folder / "none", 0, 0), UsageError);
}

TEST(RunDirectoryTest, OneProcessWritesARun) {
  const TemporaryFolder folder;
  const RunDirectory run = six_steps(folder / "run");
  EXPECT_THAT([&] { RunDirectory::resume(folder / "run", 6, 2); },
              ThrowsMessage<UsageError>(HasSubstr("another process")));
}

TEST(RunDirectoryTest, AFullDiskStopsTheLogAtAWholeLine) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  const std::string before = read_file(run.path() / "log.jsonl");
  {
    const FileSizeLimit limit(before.size() + 10);  // room for half a line
    try {
      run.log_step({{"step", 7}, {"loss", 0.5}});
      FAIL() << "a line was written past the limit";
    } catch (const WriteError& error) {
      EXPECT_EQ(error.path(), run.path() / "log.jsonl");
      EXPECT_EQ(error.error_number(), EFBIG);
    }
    EXPECT_EQ(read_file(run.path() / "log.jsonl"), before);
  }
  run.log_step({{"step", 7}});  // space came back
  EXPECT_EQ(read_file(run.path() / "log.jsonl"), before + "{\"step\":7}\n");
}

TEST(RunDirectoryTest, AFullDiskLeavesEpochsAndReportsAsTheyWere) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  run.replace("report.html", "old");
  {
    const FileSizeLimit limit(4);
    EXPECT_THROW(run.log_epoch({{"epoch", 3}, {"top1", 0.5}}), WriteError);
    EXPECT_THROW(run.replace("report.html", "longer than four"), WriteError);
  }
  EXPECT_EQ(read_file(run.path() / "report.html"), "old");
  EXPECT_EQ(read_file(run.path() / "epochs.csv"), kSixEpochs);
  run.log_epoch({{"epoch", 3}, {"top1", 2}});
  EXPECT_EQ(read_file(run.path() / "epochs.csv"), std::string(kSixEpochs) + "3,2\n");
}

TEST(RunDirectoryTest, ARunFolderThatCannotBeMadeIsNamed) {
  // Not even root can make folders in /proc.
  EXPECT_THAT([] { RunDirectory::create("/proc/skyline/run", "lenet"); },
              ThrowsMessage<WriteError>(HasSubstr("cannot write /proc/skyline/run: ")));
}

}  // namespace
}  // namespace skyline
