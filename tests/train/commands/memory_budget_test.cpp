// --memory, --profile, --budgets and --slowdown, from their arguments to their output.

#include <gtest/gtest.h>

#include <algorithm>

#include "framework/ops/connection/conv2d_kernels.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using Words = std::vector<std::string>;

class MemoryBudgetTest : public ::testing::Test {
 protected:
  Outcome train(const std::string& run, const Words& more) const {
    Words words = {"train",     "--epochs", "1",        "--batch-size", "16",
                   "--threads", "1",        "--output", path(run),      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::ranges::find(words, "seq2seq") == words.end()) {
      words.insert(words.end(), {"--images", "64", "--config", few_test_images()});
    }
    return skyline_program(words);
  }
  void expect_text_keeps(const Words& more, std::uint64_t percent);
  std::string path(const std::string& name) const { return folder_.path() / name; }
  const TemporaryFolder folder_;
};

void expect_refused(const Outcome& answer, const std::string& text) {
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.messages.find(text), std::string::npos) << answer.messages;
}

TEST_F(MemoryBudgetTest, ATrainingKeepsItAndItsBits) {
  for (const auto& [name, share] : {std::pair{"lenet", 98}, {"resnet20", 75}}) {
    const Words model = {"--model", name};
    const nlohmann::json free = train(std::string("free") + name, model).json();
    const auto unlimited = free["memory"]["peak_reserved_after_switch"].get<std::uint64_t>();
    const std::uint64_t budget = unlimited * static_cast<std::uint64_t>(share) / 100 / 1024 * 1024;
    Words within = model;
    within.insert(within.end(), {"--memory", std::to_string(budget / 1024) + "KiB"});
    const Outcome answer = train(std::string("within") + name, within);
    ASSERT_EQ(answer.exit_code, 0) << answer.messages;
    const nlohmann::json run = answer.json();
    EXPECT_EQ(run["loss"], free["loss"]);
    EXPECT_EQ(run["test_loss"], free["test_loss"]);
    EXPECT_LE(run["memory"]["peak_reserved"], budget);
    EXPECT_EQ(run["memory"]["peak_reserved"], run["budget"]["reserved"]);
    EXPECT_EQ(run["budget"]["budget"], budget);
    EXPECT_GT(run["budget"]["recomputed"], 0);
    EXPECT_LE(run["budget"]["bound"], run["budget"]["overhead"]);
  }
}

TEST_F(MemoryBudgetTest, ARunResumesWithAnother) {
  const double whole = train("whole", {"--steps", "4", "--schedule", "constant"}).json()["loss"];
  ASSERT_EQ(
      train("run", {"--steps", "2", "--schedule", "constant", "--memory", "1800KiB"}).exit_code, 0);
  const Outcome resumed = skyline_program(
      {"train", "--resume", path("run"), "--steps", "4", "--memory", "2MiB", "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.messages;
  EXPECT_EQ(resumed.json()["budget"]["budget"], 2 << 20);
  EXPECT_EQ(resumed.json()["loss"], whole);
}

// A resumed run keeps its batches.
TEST_F(MemoryBudgetTest, ARefusalNamesSmallerBatchesOfNewRunsAlone) {
  const Words small = {"--steps", "1", "--memory", "1MiB"};
  expect_refused(train("new", small), "--batch-size 4 --micro-batches 4 fits in");
  ASSERT_EQ(train("run", {"--steps", "1", "--memory", "1800KiB"}).exit_code, 0);
  const Outcome resumed =
      skyline_program({"train", "--resume", path("run"), "--steps", "2", "--memory", "1MiB"});
  expect_refused(resumed, "--memory: 1 MiB do not suffice for the step");
  EXPECT_EQ(resumed.messages.find("atch"), std::string::npos) << resumed.messages;
}

// Trains a text model without a budget and within `percent` of the bytes that this took.
void MemoryBudgetTest::expect_text_keeps(const Words& more, std::uint64_t percent) {
  Words text = {"--model", "seq2seq", "--data", "numbers",     "--pairs",
                "64",      "--steps", "3",      "--val-pairs", "8"};
  text.insert(text.end(), more.begin(), more.end());
  const nlohmann::json free = train("free", text).json();
  const auto unlimited = free["memory"]["peak_reserved_after_switch"].get<std::uint64_t>();
  const std::uint64_t budget = unlimited * percent / 100 / 1024 * 1024;
  Words within = text;
  within.insert(within.end(), {"--memory", std::to_string(budget / 1024) + "KiB"});
  const Outcome answer = train("within", within);
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  EXPECT_EQ(answer.json()["loss"], free["loss"]);
  EXPECT_LE(answer.json()["memory"]["peak_reserved"], budget);
}

TEST_F(MemoryBudgetTest, TextKeepsIt) {
  expect_text_keeps({"--units", "16", "--embedding", "128"}, 98);
}

// An LSTM's reserve is one of several outputs, and by far the largest.
TEST_F(MemoryBudgetTest, TextMakesLstmsAgain) {
  expect_text_keeps({"--units", "64", "--embedding", "16"}, 94);
}

TEST_F(MemoryBudgetTest, TextWordByWordKeepsIt) {
  expect_text_keeps({"--units", "64", "--embedding", "16", "--unroll"}, 88);
}

TEST_F(MemoryBudgetTest, TextWordByWordResumesWithAnother) {
  const Words text = {"--model",     "seq2seq",     "--data",  "numbers",    "--pairs",  "64",
                      "--val-pairs", "8",           "--units", "64",         "--layers", "1",
                      "--unroll",    "--embedding", "16",      "--schedule", "constant"};
  const auto run = [&](const std::string& name, const Words& more) {
    Words words = text;
    words.insert(words.end(), more.begin(), more.end());
    return train(name, words).json();
  };
  const nlohmann::json whole = run("whole", {"--steps", "4"});
  const auto reserved = whole["memory"]["peak_reserved_after_switch"].get<std::uint64_t>();
  const auto percent = [&](std::uint64_t share) {
    return std::to_string(reserved * share / 100 / 1024) + "KiB";
  };
  ASSERT_TRUE(run("run", {"--steps", "2", "--memory", percent(88)}).contains("budget"));
  const Outcome resumed = skyline_program(
      {"train", "--resume", path("run"), "--steps", "4", "--memory", percent(95), "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.messages;
  EXPECT_EQ(resumed.json()["loss"], whole["loss"]);
  EXPECT_LE(resumed.json()["memory"]["peak_reserved"], reserved * 95 / 100);
}

// Only processors with AVX2 have an engine with a larger workspace than the direct one's: Winograd,
// which the rule takes for resnet20's gradients of 32 and more channels.
bool resnet20_has_smaller_engines() {
  const Conv2dProblem problem{.x = {4, 32, 16, 16},
                              .weight = {32, 32, 3, 3},
                              .y = {4, 32, 16, 16},
                              .params = {.padding = 1}};
  return make_conv2d_grad_input_cpu({}, problem)->engine_use().has_value();
}

// So few bytes are half of what the step takes without a budget. Its images are few, so that the
// workspaces are among its largest blocks.
TEST_F(MemoryBudgetTest, SmallerEnginesKeepIt) {
  constexpr int kKib = 4950;
  const auto run = [&](const std::string& name) {
    return skyline_program({"train",
                            "--model",
                            "resnet20",
                            "--images",
                            "64",
                            "--epochs",
                            "1",
                            "--steps",
                            "1",
                            "--batch-size",
                            "4",
                            "--threads",
                            "1",
                            "--memory",
                            std::to_string(kKib) + "KiB",
                            "--engines",
                            "fitting",
                            "--output",
                            path(name),
                            "--json",
                            "--config",
                            few_test_images()});
  };
  const Outcome answer = run("run");
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  const nlohmann::json json = answer.json();
  EXPECT_LE(json["memory"]["peak_reserved"], kKib << 10);
  const bool has_smaller = resnet20_has_smaller_engines();
  EXPECT_EQ(json["budget"]["engines"].size() > 0, has_smaller);
  EXPECT_LE(json["budget"]["bound"], json["budget"]["overhead"]);
  EXPECT_EQ(std::filesystem::exists(path("run") + "/engines.json"), has_smaller);
  EXPECT_EQ(run("again").json()["loss"], json["loss"]);
  expect_refused(train("free", {"--engines", "fitting"}), "--engines fitting needs --memory");
}

TEST_F(MemoryBudgetTest, CompareShowsWhoFits) {
  const Outcome answer =
      skyline_program({"compare", "--model", "lenet", "--images", "64", "--batch-size", "16",
                       "--steps", "3", "--memory", "1440KiB", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  const nlohmann::json json = answer.json();
  EXPECT_LE(json["budget"]["reserved"], 1440 * 1024);
  EXPECT_EQ(json["allocators"]["planned"]["peak_reserved"], json["budget"]["reserved"]);
}

TEST_F(MemoryBudgetTest, ADryRunUsesTheProfileOfARun) {
  ASSERT_EQ(train("run", {"--model", "resnet20", "--steps", "3"}).exit_code, 0);
  const auto dry_run = [&](const std::string& batch_size) {
    return skyline_program({"dry-run", "--model", "resnet20", "--batch-size", batch_size,
                            "--threads", "1", "--profile", path("run"), "--memory", "20MiB",
                            "--json", "--budgets"});
  };
  const Outcome answer = dry_run("16");
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  const nlohmann::json json = answer.json();
  EXPECT_EQ(json["budget"]["seconds_from"], "by the profile of " + path("run"));
  EXPECT_LE(json["budget"]["reserved"], 20 << 20);
  EXPECT_GT(json["budgets"].size(), 2u);
  expect_refused(dry_run("8"), "it was measured for resnet20 on cpu, batch 16, 1 threads");
}

TEST_F(MemoryBudgetTest, LanesUseTheProfileOfARun) {
  ASSERT_EQ(train("run", {"--model", "lenet", "--steps", "3"}).exit_code, 0);
  const Outcome answer =
      skyline_program({"dry-run", "--model", "lenet", "--batch-size", "16", "--threads", "1",
                       "--lanes", "2", "--profile", path("run"), "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  const nlohmann::json lanes = answer.json()["lanes"];
  EXPECT_EQ(lanes["seconds_source"], "by the profile of " + path("run"));
  double sum = 0;
  const auto profile = nlohmann::json::parse(read_file(path("run") + "/profile.json"));
  for (const nlohmann::json& op : profile["ops"]) {
    for (const double seconds : op["seconds"]) sum += seconds;
  }
  EXPECT_NEAR(lanes["sum_seconds"], sum, 1e-9);
  EXPECT_LE(lanes["critical_path_seconds"], lanes["sum_seconds"]);
}

TEST_F(MemoryBudgetTest, ASlowdownGivesALargerBatch) {
  const Outcome answer =
      skyline_program({"dry-run", "--device-memory", "4MiB", "--slowdown", "30", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.messages;
  const nlohmann::json json = answer.json();
  EXPECT_GT(json["slower_batch"]["batch_size"], json["allocators"]["planned"]["largest_batch"]);
  EXPECT_LE(json["slower_batch"]["overhead"], 0.3);
}

TEST_F(MemoryBudgetTest, ASlowerBatchNamesItsRounds) {
  const Words alexnet = {"dry-run", "--model",         "alexnet", "--batch-size",
                         "128",     "--device-memory", "1060MiB", "--slowdown",
                         "20",      "--allocators",    "planned"};
  Words as_json = alexnet;
  as_json.emplace_back("--json");
  const std::string rounds = skyline_program(as_json).json()["slower_batch"]["rounds"];
  EXPECT_TRUE(rounds.starts_with("conv1")) << rounds;
  EXPECT_NE(skyline_program(alexnet).output.find(", with " + rounds + " in rounds\n"),
            std::string::npos);
}

// A run and a dry run name the same batches, and these train within the bytes.
TEST_F(MemoryBudgetTest, SmallerBatchesFitAsTheRefusalSays) {
  const std::string named = "--batch-size 8 --micro-batches 2 fits in";
  expect_refused(train("a", {"--model", "lenet", "--memory", "1200KiB"}), named);
  expect_refused(skyline_program({"dry-run", "--batch-size", "16", "--threads", "1", "--memory",
                                  "1200KiB", "--json"}),
                 named);
  const Outcome divided = train("b", {"--model", "lenet", "--memory", "1200KiB", "--batch-size",
                                      "8", "--micro-batches", "2"});
  ASSERT_EQ(divided.exit_code, 0) << divided.messages;
  EXPECT_LE(divided.json()["memory"]["peak_reserved"], 1200 << 10);
  expect_refused(train("c", {"--model", "seq2seq", "--data", "numbers", "--pairs", "64", "--units",
                             "16", "--embedding", "512", "--memory", "2500KiB"}),
                 "--micro-batches");
}

TEST_F(MemoryBudgetTest, TheCurveHasSmallerBatches) {
  const Words ask = {"dry-run", "--batch-size", "16", "--threads", "1", "--budgets"};
  EXPECT_NE(skyline_program(ask).output.find("4 × 4 = 16"), std::string::npos);
  Words in_json = ask;
  in_json.push_back("--json");
  const nlohmann::json rows = skyline_program(in_json).json()["smaller_batches"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["batch_size"], 8);
  EXPECT_EQ(rows[0]["micro_batches"], 2);
  EXPECT_LT(rows[3]["reserved"], rows[0]["reserved"]);
}

TEST_F(MemoryBudgetTest, WrongUsesAreNamed) {
  expect_refused(train("a", {"--memory", "0"}), "--memory: 0 bytes hold nothing");
  expect_refused(train("b", {"--memory", "plenty"}), "--memory");
  expect_refused(train("c", {"--memory", "2MiB", "--recompute", "2"}), "leave out --recompute");
  expect_refused(train("d", {"--memory", "2MiB", "--policy", "grow"}), "--policy upper-bound");
  expect_refused(train("e", {"--memory", "2MiB", "--allocator", "caching"}), "--allocator planned");
  expect_refused(train("f", {"--memory", "64KiB"}), "64 KiB do not suffice for the step");
  expect_refused(train("g", {"--memory", "2MiB", "--profile", path("none")}), "cannot read");
  expect_refused(train("h", {"--profile", path("none")}), "--profile is for --memory");
  expect_refused(skyline_program({"dry-run", "--infer", "--memory", "2MiB"}), "leave out --infer");
  expect_refused(skyline_program({"dry-run", "--slowdown", "5"}), "--slowdown needs");
  for (const char* run : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    EXPECT_FALSE(std::filesystem::exists(path(run))) << run;
  }
}

}  // namespace
}  // namespace skyline
