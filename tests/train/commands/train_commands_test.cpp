// The commands train, compare, summary and dry-run, from their arguments to their output.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/trace.h"
#include "tests/train/parsed_json.h"
#include "train/commands/commands.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Answer {
  int exit_code = 0;
  std::string output, messages;
  Json json() const { return parsed_in_order(output); }
};

Answer skyline_program(std::vector<const char*> words) {
  words.insert(words.begin(), "skyline");
  std::ostringstream output, messages;
  const int exit_code =
      run_program(all_commands(), words, {.output = output, .messages = messages, .terminal = {}});
  return {exit_code, output.str(), messages.str()};
}

class TrainCommandsTest : public ::testing::Test {
 protected:
  TrainCommandsTest() { fs::remove_all(folder_); }
  ~TrainCommandsTest() override { fs::remove_all(folder_); }

  // A run of 4 steps.
  Answer train(std::vector<const char*> more) {
    std::vector<const char*> words = {"train", "--model",   "lenet", "--images",
                                      "16",    "--epochs",  "1",     "--batch-size",
                                      "4",     "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           (std::string("skyline-commands-") +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string run_ = (folder_ / "run").string();
};

TEST_F(TrainCommandsTest, ADeviceThatIsNotBuiltInFailsByName) {
  const Answer answer = train({"--device", "cuda", "--out", run_.c_str()});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("--device cuda"), std::string::npos) << answer.messages;
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(TrainCommandsTest, TrainPrintsOneObjectAndNothingElse) {
  const Answer answer = train({"--out", run_.c_str(), "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_EQ(answer.json()["steps"], 4);
  EXPECT_EQ(answer.json()["memory"]["allocator"], "planned");
  EXPECT_NE(answer.messages.find("switched to the plan"), std::string::npos);
}

TEST_F(TrainCommandsTest, TrainShowsTableAndMap) {
  const Answer answer = train({"--out", run_.c_str()});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  for (const char* text : {"network-wise", "best-fit-pool", "planned", "lower bound", "ticks"}) {
    EXPECT_NE(answer.output.find(text), std::string::npos) << text;
  }
}

TEST_F(TrainCommandsTest, UnknownNamesGetTheNearestOne) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
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
    const Answer answer = skyline_program(words);
    EXPECT_EQ(answer.exit_code, 2) << words.back();
    EXPECT_NE(answer.messages.find(hint), std::string::npos) << answer.messages;
    EXPECT_EQ(answer.output, "");
  }
}

TEST_F(TrainCommandsTest, AComparisonKnowsBeforehandThatItsPageCannotBeWritten) {
  const Answer answer = skyline_program(
      {"compare", "--model", "mlp", "--steps", "1000000", "--report", "/nowhere/page.html"});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("cannot write /nowhere/page.html: No such file"),
            std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, ABatchOfNothingIsWrongUsage) {
  const Answer answer = skyline_program({"train", "--batch-size", "0"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find("--batch-size"), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, ABatchLargerThanTheDataFails) {
  const Answer answer = train({"--batch-size", "17", "--out", run_.c_str()});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("17"), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, AnOccupiedFolderIsRefused) {
  EXPECT_EQ(train({"--out", run_.c_str()}).exit_code, 0);
  EXPECT_EQ(train({"--out", run_.c_str()}).exit_code, 2);
}

TEST_F(TrainCommandsTest, AnEmptyNameIsNotTakenForAnOptionThatWasNotGiven) {
  for (const std::vector<const char*>& words :
       {std::vector{"train", "--steps", "1", "--resume", ""},
        {"compare", "--model", "mlp", "--steps", "1", "--allocators", "pool", "--report", ""},
        {"reproduce", "pgmo", "--output", ""},
        {"translate", "run", "one", "--reference", ""}}) {
    const Answer answer = skyline_program(words);
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.messages.find(std::string(words.end()[-2]) +
                                   ": the name of a file or folder is empty"),
              std::string::npos)
        << answer.messages;
  }
}

TEST_F(TrainCommandsTest, ThePoolOfTheCudaDriverIsRefusedOnOtherDevices) {
  const std::string expected = "allocator 'cuda-async' is a pool of the CUDA driver";
  for (const Answer& answer :
       {train({"--out", run_.c_str(), "--allocator", "cuda-async"}),
        skyline_program({"compare", "--model", "mlp", "--allocators", "pool,cuda-async"})}) {
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.messages.find(expected), std::string::npos) << answer.messages;
  }
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_F(TrainCommandsTest, ResumingWithOtherArgumentsIsRefusedByName) {
  ASSERT_EQ(train({"--out", run_.c_str()}).exit_code, 0);
  for (const auto& [flag, told] :
       {std::pair{"--batch-size", "started with 4"}, {"--steps", "started without it"}}) {
    const Answer answer = skyline_program({"train", "--resume", run_.c_str(), flag, "8"});
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.messages.find(std::string(flag) + " is 8, but the run to resume was " + told),
              std::string::npos)
        << answer.messages;
  }
}

TEST_F(TrainCommandsTest, ResumingWithTheSameOrNeutralArgumentsWorks) {
  ASSERT_EQ(train({"--out", run_.c_str(), "--allocator", "pool"}).exit_code, 0);
  const Answer answer = skyline_program({"train", "--resume", run_.c_str(), "--batch-size", "4",
                                         "--allocator", "planned", "--guard", "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_EQ(answer.json()["steps"], 4);
}

TEST_F(TrainCommandsTest, ResumingNothingNamesTheFolder) {
  const Answer answer = skyline_program({"train", "--resume", run_.c_str()});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find(run_), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, ADamagedCheckpointIsNamed) {
  ASSERT_EQ(train({"--out", run_.c_str()}).exit_code, 0);
  std::ofstream(folder_ / "run" / "checkpoints" / "latest" / "weights.safetensors") << "torn";
  const Answer answer = skyline_program({"train", "--resume", run_.c_str()});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("checkpoint"), std::string::npos) << answer.messages;
}

TEST_F(TrainCommandsTest, ADivergingRunNamesStepAndLayer) {
  const Answer answer = train({"--learning-rate", "1e6", "--images", "64", "--out", run_.c_str()});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.messages.find("the first layer that made it is"), std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, CompareSaysThatAllIsEqual) {
  const std::string page = run_ + ".html";
  fs::create_directories(folder_);
  const Answer answer =
      skyline_program({"compare", "--model", "lenet", "--images", "40", "--batch-size", "4",
                       "--steps", "5", "--threads", "1", "--report", page.c_str()});
  EXPECT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_NE(answer.output.find("equal bit for bit"), std::string::npos) << answer.output;
  EXPECT_TRUE(fs::exists(page));
}

TEST_F(TrainCommandsTest, SummaryCounts) {
  const Json json = skyline_program({"summary", "--model", "resnet20", "--json"}).json();
  EXPECT_EQ(json["parameters"], 269'722);
  EXPECT_EQ(json["multiply_adds"], 40'551'040);
  EXPECT_EQ(json["layers"][0]["output"], Json({1, 16, 32, 32}));
  EXPECT_EQ(skyline_program({"summary", "--model", "lenet", "--classes", "5", "--insize", "32",
                             "--channels", "3", "--json"})
                .json()["input"],
            Json({3, 32, 32}));
}

TEST_F(TrainCommandsTest, SummaryRefusesAnImageThatTheModelCannotTake) {
  const Answer answer = skyline_program({"summary", "--model", "lenet", "--insize", "8"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find("[lenet] image, got 8 x 8, expected at least 12 x 12"),
            std::string::npos)
      << answer.messages;
}

TEST_F(TrainCommandsTest, SummaryCountsAuxiliaryHeadsApart) {
  const Json json = skyline_program({"summary", "--model", "googlenet", "--json"}).json();
  EXPECT_EQ(json["parameters"], 13'378'280);
  EXPECT_EQ(json["auxiliary_parameters"], 13'378'280 - 6'998'552);
  EXPECT_EQ(json["multiply_adds"], 1'591'044'096);
  EXPECT_EQ(json["auxiliary_multiply_adds"], 8'372'224);
  const Answer answer = skyline_program({"summary", "--model", "googlenet"});
  EXPECT_NE(answer.output.find("in auxiliary heads"), std::string::npos);
}

TEST_F(TrainCommandsTest, TrainingRefusesImagesThatTheModelCannotTake) {
  const Answer answer = skyline_program({"train", "--model", "alexnet", "--insize", "40"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_EQ(answer.messages, "error: [alexnet] image, got 40 x 40, expected at least 55 x 55\n");
}

TEST_F(TrainCommandsTest, DryRunHasItsKeys) {
  const Json json =
      skyline_program({"dry-run", "--model", "resnet20", "--batch-size", "128", "--json"}).json();
  for (const char* key : {"parameters", "resident_bytes", "blocks", "lower_bound", "peak",
                          "proved_optimal", "categories", "allocators"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["peak"], json["lower_bound"]);
  const std::uint64_t arena = align_checked(json["peak"].get<std::uint64_t>(), 4096);  // a page
  EXPECT_EQ(json["allocators"]["planned"]["peak_reserved"],
            json["resident_bytes"].get<std::uint64_t>() + arena);
  EXPECT_EQ(json["strategies"].size(), 6u);
}

TEST_F(TrainCommandsTest, DryRunAnswersWhetherItFits) {
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
  const Json json =
      skyline_program({"compare", "--model", "seq2seq", "--infer", "--pairs", "100", "--units", "8",
                       "--batch-size", "8", "--steps", "3", "--threads", "1", "--json"})
          .json();
  EXPECT_EQ(json["mode"], "inference");
  EXPECT_EQ(json["bit_equal"], true);
  EXPECT_EQ(json["allocators"]["planned"]["losses"].size(), 3u);
}

}  // namespace
}  // namespace skyline
