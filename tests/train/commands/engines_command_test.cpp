// --engines, from its argument to the kernels of a run, its resumption and its evaluation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "framework/ops/connection/winograd_cpu.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using Words = std::vector<std::string>;

class EnginesCommandTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Outcome train(const std::string& run, int steps, Words more) {
    std::ofstream(path("few.json")) << R"({"test_images": 8, "images": 24})";
    Words words = {"train",
                   "--model",
                   "resnet20",
                   "--config",
                   path("few.json"),
                   "--batch-size",
                   "4",
                   "--schedule",
                   "constant",
                   "--threads",
                   "1",
                   "--out",
                   run,
                   "--steps",
                   std::to_string(steps)};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  std::vector<HostCopy> weights(const std::string& run) const {
    return host_copies(load_checkpoint(run).checkpoint.weights);
  }
  nlohmann::json dry_run(const std::string& model, const std::string& images, Words more) const {
    Words words = {"dry-run", "--model",   model, "--batch-size", images, "--allocators",
                   "planned", "--threads", "1",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words).json();
  }
  std::uint64_t planned_bytes(const std::string& model, const std::string& images,
                              const Words& more) const {
    return dry_run(model, images, more)["allocators"]["planned"]["peak_reserved"];
  }

  TemporaryFolder folder_;
};

TEST_F(EnginesCommandTest, AResumedRunKeepsWhatItMeasured) {
  const std::string cut = path("cut"), whole = path("whole");
  ASSERT_EQ(train(cut, 2, {"--engines", "measured"}).exit_code, 0);
  const std::string chosen = cut + "/engines.json";
  const std::string before = read_file(chosen);
  ASSERT_EQ(train(whole, 4, {"--engines", chosen}).exit_code, 0);
  const Outcome resumed = skyline_program({"train", "--resume", cut, "--steps", "4"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.messages;
  EXPECT_EQ(weights(cut), weights(whole));
  EXPECT_EQ(read_file(chosen), before);
  EXPECT_EQ(read_file(whole + "/engines.json"), before);
}

TEST_F(EnginesCommandTest, EvaluateUsesTheRunsEngines) {
  const std::string run = path("run");
  ASSERT_EQ(train(run, 1, {"--engines", "measured"}).exit_code, 0);
  EXPECT_EQ(skyline_program({"evaluate", run}).exit_code, 0);
  nlohmann::json file = nlohmann::json::parse(read_file(run + "/engines.json"));
  for (auto& engine : file["engines"]) engine = "fft";
  std::ofstream(run + "/engines.json") << file;
  const Outcome refused = skyline_program({"evaluate", run});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.messages.find("got engine 'fft', expected one of: direct"), std::string::npos)
      << refused.messages;
}

TEST_F(EnginesCommandTest, TheRuleAndDirectKernelsKeepNoChoices) {
  ASSERT_EQ(train(path("rule"), 1, {}).exit_code, 0);
  ASSERT_EQ(train(path("direct"), 1, {"--engines", "direct"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("rule") + "/engines.json"));
  EXPECT_FALSE(std::filesystem::exists(path("direct") + "/engines.json"));
}

TEST_F(EnginesCommandTest, TheRuleRaisesNoPeak) {
  std::ofstream(path("none.json")) << R"({"device": "cpu", "engines": {}})";
  for (const std::string model :
       {"googlenet", "resnet18", "resnet20", "resnet50", "inception-resnet", "vgg16"}) {
    if (model == "resnet18" && !runs_at_night()) continue;  // has the blocks of resnet20
    const bool deep = model == "resnet50" || model == "inception-resnet";
    for (const std::string images : {"1", "4", "32"}) {
      if (deep && images != "4" && !runs_at_night()) continue;
      const std::uint64_t by_rule = planned_bytes(model, images, {});
      EXPECT_LE(by_rule, planned_bytes(model, images, {"--engines", "direct"})) << model << images;
      if (images == "4") {
        EXPECT_EQ(by_rule, planned_bytes(model, images, {"--engines", path("none.json")})) << model;
      }
      EXPECT_LE(planned_bytes(model, images, {"--infer"}),
                planned_bytes(model, images, {"--infer", "--engines", "direct"}))
          << model << images;
    }
  }
}

TEST_F(EnginesCommandTest, TheRuleTakesLargerWorkspacesBelowThePeak) {
  const auto largest = [&](const Words& more) -> std::uint64_t {
    return dry_run("googlenet", "16", more)["categories"]["workspace"]["peak_bytes"];
  };
  if (winograd_codes({.weight = {1, 1, 3, 3}}).empty()) {
    GTEST_SKIP() << "no engine has a larger workspace without AVX2";
  }
  EXPECT_GT(largest({}), 2 * largest({"--engines", "direct"}));
}

TEST_F(EnginesCommandTest, ChoicesOfACardAreRefusedOnTheCpu) {
  const std::string card = path("card.json");
  std::ofstream(card)
      << R"({"card": {"deviceName": "X", "deviceVer": 900, "multiProcessorCount": 1}})";
  const Outcome refused = skyline_program({"dry-run", "--engines", card});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.messages,
            "error: --engines: '" + card +
                "' has choices for X (compute capability 9.0, 1 multiprocessors), "
                "expected some for --device cpu\n");
}

}  // namespace
}  // namespace skyline
