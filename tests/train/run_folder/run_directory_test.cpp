#include "train/run_folder/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

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
}

// Someone may edit the file at any time, and a run must go on.
TEST(RunDirectoryTest, EpochsWithOtherColumnsArePutAside) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  for (const std::string number : {"1", "2"}) {
    write_atomically(folder / "run/epochs.csv", "epoch;top1\n1;0.75\n");
    run.log_epoch({{"epoch", 3}, {"top1", 2}});
    EXPECT_THAT(run.take_warnings(), testing::ElementsAre(HasSubstr("epochs-" + number + ".csv")));
    EXPECT_EQ(read_file(folder / "run/epochs.csv"), "epoch,top1\n3,2\n");
    EXPECT_EQ(read_file(folder / ("run/epochs-" + number + ".csv")), "epoch;top1\n1;0.75\n");
  }
  EXPECT_TRUE(run.take_warnings().empty());
}

TEST(RunDirectoryTest, ARowIsALineOfItsOwnAfterAnEditorCutTheLastLineEnd) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  write_atomically(folder / "run/epochs.csv", "epoch,top1\n1,0.75");
  run.log_epoch({{"epoch", 2}, {"top1", 2}});
  EXPECT_EQ(read_file(folder / "run/epochs.csv"), "epoch,top1\n1,0.75\n2,2\n");
}

TEST(RunDirectoryTest, ResumeCutsWhatCameAfterTheCheckpoint) {
  const TemporaryFolder folder;
  { six_steps(folder / "run"); }
  std::ofstream(folder / "run/log.jsonl", std::ios::app) << "{\"step\":7,\"lo";  // torn
  {
    RunDirectory run = RunDirectory::resume(folder / "run", {.steps = 4, .epochs = 1});
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
  {
    RunDirectory run = RunDirectory::resume(folder / "run", {.steps = 6, .epochs = 2});
    EXPECT_TRUE(run.take_warnings().empty()) << "a killed process leaves such a line";
  }
  EXPECT_EQ(read_file(folder / "run/log.jsonl"), whole);
  EXPECT_THAT(
      RunDirectory::resume(folder / "run", {.steps = 8, .epochs = 2}).take_warnings(),
      testing::ElementsAre((folder / "run/log.jsonl").string() + " ends after step 6 of 8"));
}

// Each fault damages line 3 of six.
TEST(RunDirectoryTest, ADamagedLineTakesNoOtherWithIt) {
  const std::string third = "{\"step\":3,\"loss\":0.5}";
  const std::string too_long(LogFile::kLongestLine + 1, ' ');
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& fault :
       {std::string("{\"step\":3,\"lo"), std::string("{\"step\":\"3\"}"), std::string("[3]"),
        std::string(20, '\0'), std::string("\xff\xfe"), std::string("{\"step\":1}"),
        std::string("{\"step\":1e300}"), std::string("{\"step\":-3}"), std::string(),
        std::string(5000, '['), "{\"step\":3,\"x\":" + deep + "}", too_long}) {
    SCOPED_TRACE(fault.substr(0, 20));
    const TemporaryFolder folder;
    { six_steps(folder / "run"); }
    std::string log = read_file(folder / "run/log.jsonl");
    log.replace(log.find(third), third.size(), fault);
    write_atomically(folder / "run/log.jsonl", log);
    std::vector<std::int64_t> read;
    RunDirectory run = RunDirectory::resume(
        folder / "run", {.steps = 5, .epochs = 2},
        {.step = [&](const auto& line) { read.push_back(line["step"]); }, .evaluation = {}});
    EXPECT_THAT(read, testing::ElementsAre(1, 2, 4, 5));
    EXPECT_TRUE(read_file(folder / "run/log.jsonl") == log.substr(0, log.find("{\"step\":6")));
    EXPECT_THAT(run.take_warnings(),
                testing::ElementsAre(HasSubstr("log.jsonl: 1 damaged line skipped, the first is "
                                               "line 3; all others are kept")));
  }
}

TEST(RunDirectoryTest, ResumeReadsTheEvaluationsUpToTheLatest) {
  const TemporaryFolder folder;
  {
    RunDirectory run = six_steps(folder / "run");
    for (const int step : {3, 6}) run.log_evaluation({{"step", step}, {"top1", 0.5}});
  }
  std::vector<std::int64_t> read;
  RunDirectory::resume(
      folder / "run", {.steps = 6, .epochs = 1, .evaluated_step = 3},
      {.step = {}, .evaluation = [&](const auto& line) { read.push_back(line["step"]); }});
  EXPECT_THAT(read, testing::ElementsAre(3)) << "the one after step 6 will run again";
  EXPECT_EQ(read_file(folder / "run/evaluations.jsonl"), "{\"step\":3,\"top1\":0.5}\n");
}

TEST(RunDirectoryTest, ResumeTellsWhichEpochsAreMissing) {
  const TemporaryFolder folder;
  { six_steps(folder / "run"); }
  write_atomically(folder / "run/epochs.csv", "epoch,top1\n1,0.75\n");
  const auto warnings = [&] {
    return RunDirectory::resume(folder / "run", {.steps = 6, .epochs = 2}).take_warnings();
  };
  EXPECT_THAT(warnings(), testing::ElementsAre(HasSubstr("epochs.csv has 1 of 2 epochs")));
  for (const char* content : {"", "epoch,top1\n"}) {
    write_atomically(folder / "run/epochs.csv", content);
    EXPECT_THAT(warnings(), testing::ElementsAre(HasSubstr("epochs.csv has 0 of 2 epochs")));
  }
  fs::remove(folder / "run/epochs.csv");
  EXPECT_THAT(warnings(), testing::ElementsAre(HasSubstr("epochs.csv has 0 of 2 epochs")));
}

// None of these may block: a pipe without another end would for ever.
TEST(RunDirectoryTest, WhatIsNoFileInThePlaceOfALogIsNamed) {
  const std::vector<std::pair<std::function<void(const fs::path&)>, std::string>> kinds = {
      {[](const fs::path& at) { mkfifo(at.c_str(), 0600); }, "it is a pipe, not a file"},
      {[](const fs::path& at) { fs::create_directory(at); }, "it is a folder, not a file"},
      {[](const fs::path& at) { fs::create_symlink("/dev/null", at); },
       "it is a link to /dev/null, outside the run folder"},
      {[](const fs::path& at) { fs::create_symlink("none/x", at); }, "a link to none/x, which"},
      {[](const fs::path& at) { fs::create_symlink(at.filename(), at); }, "Too many levels"}};
  for (const char* name : {"log.jsonl", "epochs.csv", "evaluations.jsonl"}) {
    for (const auto& [make, cause] : kinds) {
      SCOPED_TRACE(name + cause);
      const TemporaryFolder folder;
      { six_steps(folder / "run"); }
      fs::remove(folder / "run" / name);
      make(folder / "run" / name);
      EXPECT_THAT([&] { RunDirectory::resume(folder / "run", {.steps = 6, .epochs = 2}); },
                  ThrowsMessage<WriteError>(
                      AllOf(HasSubstr((folder / "run" / name).string()), HasSubstr(cause))));
    }
  }
}

TEST(RunDirectoryTest, WhatIsNoFileInThePlaceOfAReportIsNamed) {
  const TemporaryFolder folder;
  const RunDirectory run = six_steps(folder / "run");
  ASSERT_EQ(mkfifo((folder / "run/report.html").c_str(), 0600), 0);
  EXPECT_THAT([&] { run.replace("report.html", "page"); },
              ThrowsMessage<WriteError>("cannot write " + (folder / "run/report.html").string() +
                                        ": it is a pipe, not a file"));
}

// A link may lead to another file of the user, which a run would cut or replace.
TEST(RunDirectoryTest, NothingIsWrittenThroughALinkOutOfTheFolder) {
  for (const char* name :
       {"arguments.json", "log.jsonl", "evaluations.jsonl", "epochs.csv", "trace.csv", "plan.csv",
        "graph.json", "report.html", "profile.json", "engines.json", "mean.safetensors",
        "source.vocabulary.txt", "target.vocabulary.txt"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const fs::path mine = folder / "mine", link = folder / "run" / name;
    write_atomically(mine, "mine");
    { six_steps(folder / "run"); }
    fs::remove(link);
    fs::create_symlink("../mine", link);
    const std::string refusal = "cannot write " + link.string() + ": it is a link to " +
                                fs::canonical(mine).string() + ", outside the run folder";
    const std::string log = read_file(folder / "run/log.jsonl");
    EXPECT_THAT([&] { RunDirectory::check_links(folder / "run"); },
                ThrowsMessage<WriteError>(refusal));
    EXPECT_THAT([&] { RunDirectory::resume(folder / "run", {.steps = 4, .epochs = 1}); },
                ThrowsMessage<WriteError>(refusal));
    EXPECT_EQ(read_file(mine), "mine");
    EXPECT_EQ(read_file(folder / "run/log.jsonl"), log) << "nothing was changed";
  }
}

TEST(RunDirectoryTest, ALinkMadeDuringTheRunIsNotFollowed) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  const fs::path mine = folder / "mine";
  write_atomically(mine, "mine");
  const auto refused = [&](const char* name, const std::function<void()>& act) {
    fs::remove_all(folder / "run" / name);
    fs::create_symlink(mine, folder / "run" / name);
    EXPECT_THAT(act, ThrowsMessage<WriteError>(
                         HasSubstr((folder / "run" / name).string() + ": it is a link to ")));
    fs::remove(folder / "run" / name);
  };
  refused("report.html", [&] { run.replace("report.html", "page"); });
  refused("notes.html", [&] { run.replace("notes.html", "page"); });
  refused("epochs.csv", [&] { run.log_epoch({{"epoch", 3}, {"top1", 0.5}}); });
  refused("evaluations.jsonl", [&] { run.log_evaluation({{"step", 6}}); });
  refused("checkpoints", [&] { run.writing([&] { fs::remove_all(mine); }); });
  refused("best", [&] { run.writing([&] { fs::remove_all(mine); }); });
  refused("mean.safetensors", [&] { run.writing([&] { fs::remove_all(mine); }); });
  EXPECT_EQ(read_file(mine), "mine");
}

TEST(RunDirectoryTest, FoldersOfCheckpointsAreNoLinksOutOfTheFolder) {
  for (const char* name : {"checkpoints", "best"}) {
    const TemporaryFolder folder;
    { six_steps(folder / "run"); }
    fs::create_directory(folder / "elsewhere");
    fs::create_directory_symlink(folder / "elsewhere", folder / "run" / name);
    EXPECT_THAT([&] { RunDirectory::resume(folder / "run", {.steps = 6, .epochs = 2}); },
                ThrowsMessage<WriteError>(HasSubstr("/elsewhere, outside the run folder")));
  }
}

TEST(RunDirectoryTest, LinksWithinTheFolderAndToItAreFollowed) {
  const TemporaryFolder folder;
  { six_steps(folder / "disk"); }
  fs::create_directory_symlink("disk", folder / "run");
  fs::create_directory(folder / "disk/logs");
  fs::rename(folder / "disk/log.jsonl", folder / "disk/logs/log.jsonl");
  fs::create_symlink("logs/log.jsonl", folder / "disk/log.jsonl");
  fs::create_directory(folder / "disk/kept");
  fs::create_directory_symlink("kept", folder / "disk/checkpoints");
  fs::create_symlink(folder / "mine", folder / "disk/notes.txt");  // nothing that a run writes
  RunDirectory run = RunDirectory::resume(folder / "run", {.steps = 4, .epochs = 1});
  run.log_step({{"step", 5}});
  run.writing([&] { write_atomically(run.checkpoints() / "x", "x"); });
  EXPECT_THAT(read_file(folder / "disk/logs/log.jsonl"), testing::EndsWith("{\"step\":5}\n"));
  EXPECT_EQ(read_file(folder / "disk/kept/x"), "x");
  EXPECT_TRUE(fs::is_symlink(folder / "disk/log.jsonl"));
  run.check();
}

TEST(RunDirectoryTest, AFolderWithALinkToAnEmptyFileIsNotTaken) {
  const TemporaryFolder folder;
  write_atomically(folder / "mine", "");
  fs::create_directory(folder / "run");
  fs::create_symlink(folder / "mine", folder / "run/log.jsonl");
  EXPECT_THAT([&] { RunDirectory::create(folder / "run", "lenet"); },
              ThrowsMessage<UsageError>(HasSubstr("is not empty")));
}

TEST(RunDirectoryTest, ResumeNeedsARun) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { RunDirectory::resume(folder.path(), {}); },
              ThrowsMessage<UsageError>(HasSubstr("arguments.json is missing")));
  EXPECT_THROW(RunDirectory::resume(folder / "none", {}), UsageError);
}

TEST(RunDirectoryTest, OneProcessWritesARun) {
  const TemporaryFolder folder;
  const RunDirectory run = six_steps(folder / "run");
  EXPECT_THAT([&] { RunDirectory::resume(folder / "run", {.steps = 6, .epochs = 2}); },
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

TEST(RunDirectoryTest, AMovedFolderIsNoticedAndStillWrittenTo) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  run.check();
  fs::rename(folder / "run", folder / "elsewhere");
  EXPECT_THAT([&] { run.check(); },
              ThrowsMessage<RunFolderLost>("the run folder " + (folder / "run").string() +
                                           " was moved to " + (folder / "elsewhere").string() +
                                           " during the run"));
  fs::create_directory(folder / "run");  // another folder of its name is not the run's
  EXPECT_THROW(run.check(), RunFolderLost);
  EXPECT_EQ(run.place(), folder / "elsewhere");
  run.log_step({{"step", 7}});
  run.log_epoch({{"epoch", 3}, {"top1", 2}});
  run.replace("report.html", "page");
  write_atomically(run.checkpoints().parent_path() / "x", "x");
  EXPECT_THAT(read_file(folder / "elsewhere/log.jsonl"), testing::EndsWith("{\"step\":7}\n"));
  EXPECT_EQ(read_file(folder / "elsewhere/report.html"), "page");
  EXPECT_EQ(read_file(folder / "elsewhere/x"), "x");
  EXPECT_TRUE(fs::is_empty(folder / "run"));
}

TEST(RunDirectoryTest, ARemovedFolderIsNoticedAndNotMadeAnew) {
  const TemporaryFolder folder;
  RunDirectory run = six_steps(folder / "run");
  fs::remove_all(folder / "run");
  EXPECT_THAT([&] { run.check(); }, ThrowsMessage<RunFolderLost>(HasSubstr("was removed during")));
  EXPECT_EQ(run.place(), std::nullopt);
  EXPECT_THAT([&] { run.replace("report.html", "page"); },
              ThrowsMessage<WriteError>(HasSubstr((folder / "run/report.html").string())));
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(RunDirectoryTest, ALogThatIsNoLongerInTheFolderIsNoticed) {
  const TemporaryFolder folder;
  const RunDirectory run = six_steps(folder / "run");
  fs::rename(folder / "run/log.jsonl", folder / "run/old.jsonl");
  EXPECT_THAT([&] { run.check(); }, ThrowsMessage<RunFolderLost>(HasSubstr("log.jsonl was moved")));
  write_atomically(folder / "run/log.jsonl", "");
  EXPECT_THROW(run.check(), RunFolderLost);
  EXPECT_EQ(run.place(), folder / "run");
}

TEST(RunDirectoryTest, AFolderOfAStartThatFailedAtOnceIsTakenAgain) {
  const TemporaryFolder folder;
  {
    RunDirectory run = RunDirectory::create(folder / "run", "lenet");
    const FileSizeLimit limit(4);
    EXPECT_THROW(run.write_arguments({{"model", "lenet"}}), WriteError);
  }
  { RunDirectory::create(folder / "run", "lenet").write_arguments({{"model", "lenet"}}); }
  EXPECT_THAT([&] { RunDirectory::create(folder / "run", "lenet"); },
              ThrowsMessage<UsageError>(HasSubstr("to continue its run, give --resume")));
}

TEST(RunDirectoryTest, ARunThatWasNeverSavedIsKnownByItsArguments) {
  const TemporaryFolder folder;
  EXPECT_FALSE(arguments_of_unsaved_run(folder / "run"));
  { six_steps(folder / "run"); }
  const auto arguments = arguments_of_unsaved_run(folder / "run");
  ASSERT_TRUE(arguments);
  EXPECT_EQ((**arguments)["model"], "lenet");
  fs::create_directories(folder / "run/checkpoints/step-000000004.tmp");  // half a checkpoint
  EXPECT_TRUE(arguments_of_unsaved_run(folder / "run"));
  fs::create_directories(folder / "run/checkpoints/step-000000004");
  EXPECT_FALSE(arguments_of_unsaved_run(folder / "run")) << "even a damaged one may hold something";
  fs::remove_all(folder / "run/checkpoints");
  for (const auto& [text, reason] :
       {std::pair(std::string("{\"model\": \"len"), "is not JSON at byte 15"),
        std::pair(std::string(5000, '[') + std::string(5000, ']'), "is nested deeper than")}) {
    write_atomically(folder / "run/arguments.json", text);
    EXPECT_THAT([&] { arguments_of_unsaved_run(folder / "run"); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("arguments.json is damaged: it " + std::string(reason)),
                          HasSubstr("and the run has no checkpoint"))));
  }
}

// Runs `act` as a user without rights; returns what it threw.
std::string thrown_to_a_stranger(const std::function<void()>& act) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    std::string message;
    try {
      if (geteuid() == 0 && setuid(kNobody) != 0) throw std::runtime_error("cannot change user");
      act();
    } catch (const std::exception& error) {
      message = error.what();
    }
    [[maybe_unused]] const auto written = write(ends[1], message.data(), message.size());
    _exit(0);
  }
  close(ends[1]);
  std::string message(4096, '\0');
  const ssize_t got = read(ends[0], message.data(), message.size());
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return message;
}

TEST(RunDirectoryTest, MissingRightsAreNamed) {
  const TemporaryFolder folder;
  { six_steps(folder / "run"); }
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder / "run/log.jsonl", fs::perms::owner_read);
  EXPECT_EQ(thrown_to_a_stranger([&] { RunDirectory::resume(folder / "run", {}); }),
            "cannot write " + (folder / "run/log.jsonl").string() + ": Permission denied");
  fs::permissions(folder / "run", fs::perms::none);
  EXPECT_THAT(thrown_to_a_stranger([&] { RunDirectory::create(folder / "run", "lenet"); }),
              HasSubstr("Permission denied"));
  EXPECT_THAT(thrown_to_a_stranger([&] { RunDirectory::resume(folder / "run", {}); }),
              HasSubstr("Permission denied"));
  fs::permissions(folder / "run", fs::perms::all);
}

TEST(RunDirectoryTest, ARunFolderThatCannotBeMadeIsNamed) {
  // Not even root can make folders in /proc.
  EXPECT_THAT([] { RunDirectory::create("/proc/skyline/run", "lenet"); },
              ThrowsMessage<WriteError>(HasSubstr("cannot write /proc/skyline/run: ")));
}

}  // namespace
}  // namespace skyline
