// The commands train, compare, summary and dry-run, from their arguments to their output.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/trace.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/patterns.h"
#include "tests/train/report/browser.h"
#include "train/checkpoints/files.h"
#include "train/commands/commands.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

class TrainCommandsTest : public ::testing::Test {
 protected:
  TrainCommandsTest() { fs::remove_all(folder_); }
  ~TrainCommandsTest() override { fs::remove_all(folder_); }

  // A run of 4 steps.
  Outcome train(std::vector<std::string> more) {
    std::vector<std::string> words = {
        "train",        "--model", "lenet",     "--images", "16",       "--epochs",       "1",
        "--batch-size", "4",       "--threads", "1",        "--config", few_test_images()};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           (std::string("skyline-commands-") +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string run_ = (folder_ / "run").string();
};

TEST_F(TrainCommandsTest, ADeviceThatIsNotBuiltInFailsByName) {
  const Outcome answer = train({"--device", "cuda", "--out", run_});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("--device cuda"), std::string::npos) << answer.messages;
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(TrainCommandsTest, TrainPrintsOneObjectAndNothingElse) {
  const Outcome answer = train({"--out", run_, "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_EQ(answer.json()["steps"], 4);
  EXPECT_EQ(answer.json()["memory"]["allocator"], "planned");
  EXPECT_NE(answer.messages.find("switched to the plan"), std::string::npos);
}

TEST_F(TrainCommandsTest, AnInterruptedStepKeepsItsPlanAndShowsTheRestApart) {
  const Outcome answer = train({"--out", run_, "--inference-loss-every", "2"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_NE(answer.output.find(" requests outside of the plan by interruption"), std::string::npos);
  const std::size_t more = answer.output.find("against the pool, the plan takes ");
  const std::size_t cause = answer.output.find("the cause: ");
  EXPECT_EQ(more == std::string::npos, cause == std::string::npos) << answer.output;
  EXPECT_NE(cause, std::string::npos) << answer.output;
  EXPECT_NE(answer.messages.find(" in inference mode"), std::string::npos);
  std::istringstream log(read_file(fs::path(run_) / "log.jsonl"));
  std::vector<bool> measured;
  for (std::string line; std::getline(log, line);) {
    measured.push_back(nlohmann::json::parse(line).contains("inference_loss"));
  }
  EXPECT_EQ(measured, (std::vector<bool>{false, true, false, true}));
  const auto page = read_file(fs::path(run_) / "report.html");
  EXPECT_NE(page.find("\"interrupted\":{"), std::string::npos);
}

TEST_F(TrainCommandsTest, TrainShowsTableAndMap) {
  const Outcome answer = train({"--out", run_});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  for (const char* text : {"network-wise", "best-fit-pool", "planned", "at least", "ticks"}) {
    EXPECT_NE(answer.output.find(text), std::string::npos) << text;
  }
}

// Terminal, title, tiles and table of the page: the same figures of one run.
TEST_F(TrainCommandsTest, TerminalAndPageHaveOneBasisOfBytes) {
  const Outcome answer = train({"--out", run_});
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  const auto first = [&](const char* pattern) {
    const std::vector<Match> found = matches(answer.output, pattern);
    return found.empty() ? std::string() : found.front()[1];
  };
  const std::string plan = first("planned +[0-9.]+ .iB +([0-9.]+ .iB) "),
                    other = first("best-fit-pool +([0-9.]+ .iB) "),
                    share = first("saves [^,]+, ([0-9.]+ %)");
  ASSERT_TRUE(!plan.empty() && !other.empty() && !share.empty()) << answer.output;
  const std::string page = opened_in_browser(read_file(run_ + "/report.html"));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const std::string& made :
       {"The plan takes " + plan + " from the device; best-fit-pool takes " + other + ".",
        "<span>the plan takes</span><strong>" + plan + "</strong>",
        "<span>saved against best-fit-pool</span><strong>" + share + "</strong>",
        "<td class=\"number\">" + plan + "</td>", "−" + share}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

TEST_F(TrainCommandsTest, UnknownNamesGetTheNearestOne) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"train", "--model", "lenett"}, "did you mean 'lenet'"},
      {{"train", "--data", "shaeps"}, "did you mean 'shapes'"},
      {{"train", "--allocator", "planed"}, "did you mean 'planned'"},
      {{"train", "--planner", "best-fitt"}, "did you mean 'best-fit'"},
      {{"train", "--policy", "growe"}, "did you mean 'grow'"},
      {{"train", "--schedule", "cosin"}, "did you mean 'cosine'"},
      {{"train", "--bach-size", "4"}, "did you mean '--batch-size'"},
      {{"compare", "--allocators", "planned,pol"}, "did you mean 'pool'"},
      {{"dry-run", "--model", "resnet02"}, "did you mean 'resnet20'"},
      {{"sumary"}, "did you mean 'summary'"},
  };
  for (const auto& [words, hint] : cases) {
    const Outcome answer = skyline_program(words);
    EXPECT_EQ(answer.exit_code, 2) << words.back();
    EXPECT_NE(answer.messages.find(hint), std::string::npos) << answer.messages;
    EXPECT_EQ(answer.output, "");
  }
}

TEST_F(TrainCommandsTest, AComparisonKnowsBeforehandThatItsPageCannotBeWritten) {
  const Outcome answer = skyline_program(
      {"compare", "--model", "mlp", "--steps", "1000000", "--report", "/nowhere/page.html"});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("cannot write /nowhere/page.html: No such file"),
            std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, ABatchOfNothingIsWrongUsage) {
  const Outcome answer = skyline_program({"train", "--batch-size", "0"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find("--batch-size"), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, ABatchLargerThanTheDataFails) {
  const Outcome answer = train({"--batch-size", "17", "--out", run_});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("17"), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, AnOccupiedFolderIsRefused) {
  EXPECT_EQ(train({"--out", run_}).exit_code, 0);
  EXPECT_EQ(train({"--out", run_}).exit_code, 2);
}

TEST_F(TrainCommandsTest, AnEmptyNameIsNotTakenForAnOptionThatWasNotGiven) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "--steps", "1", "--resume", ""},
        {"compare", "--model", "mlp", "--steps", "1", "--allocators", "pool", "--report", ""},
        {"reproduce", "pgmo", "--output", ""},
        {"translate", "run", "one", "--reference", ""}}) {
    const Outcome answer = skyline_program(words);
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.messages.find(words.end()[-2] + ": the name of a file or folder is empty"),
              std::string::npos)
        << answer.messages;
  }
}

TEST_F(TrainCommandsTest, ThePoolOfTheCudaDriverIsRefusedOnOtherDevices) {
  const std::string expected = "allocator 'cuda-async' is a pool of the CUDA driver";
  for (const Outcome& answer :
       {train({"--out", run_, "--allocator", "cuda-async"}),
        skyline_program({"compare", "--model", "mlp", "--allocators", "pool,cuda-async"})}) {
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.messages.find(expected), std::string::npos) << answer.messages;
  }
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_F(TrainCommandsTest, ResumingWithOtherArgumentsIsRefusedByName) {
  ASSERT_EQ(train({"--out", run_}).exit_code, 0);
  for (const auto& [flag, told] :
       {std::pair{"--batch-size", "started with 4"}, {"--seed", "started with 0"}}) {
    const Outcome answer = skyline_program({"train", "--resume", run_, flag, "8"});
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.messages.find(std::string(flag) + " is 8, but the run to resume was " + told),
              std::string::npos)
        << answer.messages;
  }
}

TEST_F(TrainCommandsTest, AResumedRunMayGoOnLonger) {
  ASSERT_EQ(train({"--output", run_, "--schedule", "constant"}).exit_code, 0);
  const Outcome longer =
      skyline_program({"train", "--resume", run_, "--epochs", "2", "--lr", "0.001", "--json"});
  EXPECT_EQ(longer.exit_code, 0) << longer.messages;
  EXPECT_EQ(longer.json()["steps"], 8);
  EXPECT_NE(longer.messages.find("after step 4 with --learning-rate 0.001 (was 0.02), --epochs 2 "
                                 "(was 1)"),
            std::string::npos)
      << longer.messages;
  // A run that is made longer ends like one that was so long from the beginning.
  const std::string whole = (folder_ / "whole").string(), parts = (folder_ / "parts").string();
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--schedule", "constant", "--json"});
    return train(words).json()["loss"];
  };
  run({"--output", parts});
  const Outcome rest = skyline_program({"train", "--resume", parts, "--epochs", "2", "--json"});
  EXPECT_EQ(rest.json()["loss"], run({"--output", whole, "--epochs", "2"}));
}

TEST_F(TrainCommandsTest, ARunThatIsLongerAlreadyIsNamed) {
  ASSERT_EQ(train({"--output", run_}).exit_code, 0);
  const Outcome answer = skyline_program({"train", "--resume", run_, "--steps", "2"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find("the run has done 4 steps already, which is more than the 2 of "
                                 "--steps"),
            std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, TheArgumentsOfARunAreAConfig) {
  const Outcome first = train({"--output", run_, "--lr", "0.002", "--json"});
  const std::string config = run_ + "/arguments.json", again = (folder_ / "again").string();
  const Outcome second =
      skyline_program({"train", "--config", config, "--output-dir", again, "--json"});
  EXPECT_EQ(second.exit_code, 0) << second.messages;
  EXPECT_EQ(second.json()["loss"], first.json()["loss"]);
  EXPECT_EQ(skyline_program({"train", "--config", "/nowhere.json"}).exit_code, 2);
  EXPECT_EQ(skyline_program({"train", "--resume", run_, "--config", config}).exit_code, 2);
}

TEST_F(TrainCommandsTest, ResumingWithTheSameOrNeutralArgumentsWorks) {
  ASSERT_EQ(train({"--out", run_, "--allocator", "pool"}).exit_code, 0);
  const Outcome answer = skyline_program({"train", "--resume", run_, "--batch-size", "4",
                                          "--allocator", "planned", "--guard", "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_EQ(answer.json()["steps"], 4);
}

TEST_F(TrainCommandsTest, ResumingNothingNamesTheFolder) {
  const Outcome answer = skyline_program({"train", "--resume", run_});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find(run_), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, ADamagedCheckpointIsNamed) {
  ASSERT_EQ(train({"--out", run_}).exit_code, 0);
  std::ofstream(folder_ / "run" / "checkpoints" / "latest" / "weights.safetensors") << "torn";
  const Outcome answer = skyline_program({"train", "--resume", run_});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("checkpoint"), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, AnOptionThatWouldDoNothingIsRefused) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"train", "--expandable-segments"},
       "--expandable-segments is for the allocator caching, got planned"},
      {{"train", "--allocator", "caching", "--no-bfc-growth"},
       "--no-bfc-growth is for the allocator bfc, got caching"},
      {{"train", "--allocator", "pool", "--policy", "grow"},
       "--policy is for the allocator planned, got best-fit-pool"},
      {{"compare", "--allocators", "pool,caching@1GiB", "--policy", "grow"},
       "--policy is for the allocator planned, got best-fit-pool, caching@1GiB"},
      {{"dry-run", "--model", "mlp", "--allocators", "pool,planned", "--expandable-segments"},
       "--expandable-segments is for the allocator caching, got best-fit-pool, planned"},
      {{"replay", "-", "--allocator", "bfc", "--expandable-segments"},
       "--expandable-segments is for the allocator caching, got bfc"},
      {{"train", "--deterministic"},
       "--no-prefetch, --tf32, --deterministic and --graph need --device cuda"},
      {{"train", "--milestones", "2"},
       "--milestones is for --schedule milestones and would do nothing here"},
      {{"train", "--gamma", "0.5"},
       "--gamma is for --schedule milestones and would do nothing here"},
      {{"train", "--schedule", "milestones"},
       "--schedule milestones needs --milestones, such as 30,60"},
      {{"train", "--schedule", "milestones", "--milestones", "3,3"},
       "--milestones: 3 is out of range: it must be from 4 to 1000000000"},
      {{"train", "--decay-weights-only", "--weight-decay", "0"},
       "--decay-weights-only is for --optimizer sgd with a --weight-decay and would do nothing "
       "here"},
      {{"train", "--model", "seq2seq", "--label-smoothing", "0.1"},
       "--label-smoothing is for models that read images, got --model seq2seq"},
      {{"train", "--graph"},
       "--no-prefetch, --tf32, --deterministic and --graph need --device cuda"},
      {{"train", "--engines", "/no/fastest"},
       "--engines: cannot read '/no/fastest', expected direct, measured, fitting or a file"},
      {{"train", "--device", "cuda", "--engines", "direct"}, "--engines direct needs --device cpu"},
      {{"dry-run", "--device", "cuda", "--engines", "measured"},
       "--engines measured runs convolutions, a dry run does not: give it the engines.json of a "
       "run"},
      {{"dry-run", "--engines", "measured"},
       "--engines measured runs convolutions, a dry run does not: give it the engines.json of a "
       "run"}};
  for (const auto& [words, expected] : cases) {
    const Outcome answer = skyline_program(words);
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_EQ(answer.messages, "error: " + expected + "\n");
  }
}

TEST_F(TrainCommandsTest, AStepThatDoesNotFitNamesWhatTakesLess) {
  const Outcome answer = train({"--capacity", "64KiB", "--allocator", "pool", "--out", run_});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("--memory SIZE, --micro-batches or a smaller --batch-size"),
            std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, SchedulesMayChangeWhenARunGoesOn) {
  EXPECT_EQ(train({"--out", run_}).exit_code, 0);
  const Outcome answer =
      skyline_program({"train", "--resume", run_, "--epochs", "2", "--schedule", "milestones",
                       "--milestones", "1", "--gamma", "0.5", "--lr-warmup-epochs", "1"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_NE(answer.messages.find("--milestones [1] (was [])"), std::string::npos)
      << answer.messages;
  std::ifstream log(fs::path(run_) / "log.jsonl");
  std::string line, last;
  while (std::getline(log, line)) last = line;
  EXPECT_DOUBLE_EQ(parsed_json(last)["learning_rate"].get<double>(), 0.02 / 2) << "lenet's halved";
}

TEST_F(TrainCommandsTest, APipeInARunFolderIsNotWaitedFor) {
  EXPECT_EQ(train({"--out", run_}).exit_code, 0);
  for (const char* name : {"engines.json", "log.jsonl", "arguments.json", "evaluations.jsonl"}) {
    const std::string pipe = run_ + "/" + name;
    fs::remove(pipe);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const Outcome answer = skyline_program({"train", "--resume", run_, "--epochs", "2"});
    EXPECT_EQ(answer.exit_code, 1);
    EXPECT_NE(answer.messages.find(pipe + ": it is a pipe, not a file"), std::string::npos)
        << answer.messages;
    fs::remove(pipe);
  }
}

TEST_F(TrainCommandsTest, ADivergingRunNamesStepAndLayer) {
  const Outcome answer = train({"--learning-rate", "1e6", "--images", "64", "--out", run_});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("the first layer that made it is"), std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, CompareSaysThatAllIsEqual) {
  const std::string page = run_ + ".html";
  fs::create_directories(folder_);
  const Outcome answer =
      skyline_program({"compare", "--model", "lenet", "--images", "40", "--batch-size", "4",
                       "--steps", "5", "--threads", "1", "--report", page});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_NE(answer.output.find("equal bit for bit"), std::string::npos) << answer.output;
  EXPECT_TRUE(fs::exists(page));
}

TEST_F(TrainCommandsTest, SummaryCounts) {
  const nlohmann::json json = skyline_program({"summary", "--model", "resnet20", "--json"}).json();
  EXPECT_EQ(json["parameters"], 269'722);
  EXPECT_EQ(json["multiply_adds"], 40'551'040);
  EXPECT_EQ(json["layers"][0]["output"], nlohmann::json({1, 16, 32, 32}));
  EXPECT_EQ(skyline_program({"summary", "--model", "lenet", "--classes", "5", "--insize", "32",
                             "--channels", "3", "--json"})
                .json()["input"],
            nlohmann::json({3, 32, 32}));
}

TEST_F(TrainCommandsTest, SummaryCountsThePapersTranslator) {
  const auto summary = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"summary", "--model", "seq2seq"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  };
  EXPECT_EQ(summary({"--paper", "--json"}).json()["parameters"], 173'306'946);
  EXPECT_EQ(summary({"--json"}).json()["parameters"], 32'865'344);
  for (const char* size : {"--layers", "--units", "--embedding"}) {
    const Outcome refused = summary({"--paper", size, "7"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.messages.find("--paper sets the size"), std::string::npos) << size;
  }
}

// Each step translates its sentences into as many words as PGMO's.
TEST_F(TrainCommandsTest, CompareTranslates) {
  const Outcome answer = skyline_program({"compare",
                                          "--model",
                                          "seq2seq",
                                          "--data",
                                          "numbers",
                                          "--pairs",
                                          "40",
                                          "--units",
                                          "8",
                                          "--layers",
                                          "1",
                                          "--batch-size",
                                          "1",
                                          "--infer",
                                          "--translate",
                                          "100",
                                          "--steps",
                                          "4",
                                          "--allocators",
                                          "best-fit-pool,planned-upper-bound",
                                          "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  const nlohmann::json json = answer.json();
  EXPECT_GE(json["blocks"], 707);
  EXPECT_EQ(json["allocators"]["planned-upper-bound"]["device_allocations_after_switch"], 0);
  EXPECT_EQ(
      skyline_program({"compare", "--model", "seq2seq", "--data", "numbers", "--translate", "5"})
          .exit_code,
      2)
      << "it needs --infer";
}

TEST_F(TrainCommandsTest, SummaryRefusesAnImageThatTheModelCannotTake) {
  const Outcome answer = skyline_program({"summary", "--model", "lenet", "--insize", "8"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find("[lenet] image, got 8 x 8, expected at least 12 x 12"),
            std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, SummaryCountsAuxiliaryHeadsApart) {
  const nlohmann::json json = skyline_program({"summary", "--model", "googlenet", "--json"}).json();
  EXPECT_EQ(json["parameters"], 13'378'280);
  EXPECT_EQ(json["auxiliary_parameters"], 13'378'280 - 6'998'552);
  EXPECT_EQ(json["multiply_adds"], 1'591'044'096);
  EXPECT_EQ(json["auxiliary_multiply_adds"], 8'372'224);
  const Outcome answer = skyline_program({"summary", "--model", "googlenet"});
  EXPECT_NE(answer.output.find("in auxiliary heads"), std::string::npos);
}

TEST_F(TrainCommandsTest, TrainingRefusesImagesThatTheModelCannotTake) {
  const Outcome answer = skyline_program({"train", "--model", "alexnet", "--insize", "40"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_EQ(answer.messages, "error: [alexnet] image, got 40 x 40, expected at least 55 x 55\n");
}

TEST_F(TrainCommandsTest, DryRunHasItsKeys) {
  const nlohmann::json json =
      skyline_program({"dry-run", "--model", "resnet20", "--batch-size", "128", "--json"}).json();
  for (const char* key : {"parameters", "resident_bytes", "blocks", "lower_bound", "peak",
                          "proved_optimal", "categories", "allocators"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["peak"], json["lower_bound"]);
  const std::uint64_t arena = align_checked(json["peak"].get<std::uint64_t>(), 4096);  // a page
  EXPECT_EQ(json["allocators"]["planned"]["peak_reserved"],
            json["resident_bytes"].get<std::uint64_t>() + arena);
  EXPECT_EQ(json["strategies"].size(), 7u);
}

TEST_F(TrainCommandsTest, DryRunOutcomesWhetherItFits) {
  const auto fits = [](const char* capacity, const char* allocator) {
    return skyline_program({"dry-run", "--model", "resnet20", "--batch-size", "128", "--capacity",
                            capacity, "--json"})
        .json()["allocators"][allocator]["fits"]
        .get<bool>();
  };
  EXPECT_TRUE(fits("191MiB", "planned")) << "without a warm-up on the pool";
  EXPECT_FALSE(fits("191MiB", "network-wise"));
  EXPECT_FALSE(fits("187MiB", "planned"));
  EXPECT_FALSE(fits("187MiB", "best-fit-pool"));
}

TEST(CompareCommandTest, InfersWithSeq2Seq) {
  const nlohmann::json json =
      skyline_program({"compare", "--model", "seq2seq", "--infer", "--pairs", "100", "--units", "8",
                       "--batch-size", "8", "--steps", "3", "--threads", "1", "--json"})
          .json();
  EXPECT_EQ(json["mode"], "inference");
  EXPECT_EQ(json["bit_equal"], true);
  EXPECT_EQ(json["allocators"]["planned"]["losses"].size(), 3u);
}

}  // namespace
}  // namespace skyline
