#include "framework/engines/engine_choices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "tests/cuda/described_card.h"
#include "tests/framework/error_of.h"

namespace skyline {
namespace {

EngineChoices choices() {
  return {.card = tests::kDescribedCard,
          .cudnn = 91900,
          .by_problem = {
              {"conv2d a",
               {.engine = 70, .knobs = {{2, 3}, {13, 1}}, .workspace_bytes = 131, .seconds = 0.25}},
              {"conv2d b", {.engine = 28, .finishes = true}}}};
}

TEST(EngineChoices, RoundTripThroughJson) {
  const EngineChoices before = choices();
  const EngineChoices after = EngineChoices::from_json(before.to_json(), "plan.json");
  EXPECT_EQ(after.by_problem, before.by_problem);
  EXPECT_EQ(after.cudnn, before.cudnn);
  EXPECT_EQ(after.to_json(), before.to_json());
  EXPECT_EQ(after.card_name(), "NVIDIA H200 (compute capability 9.0, 132 multiprocessors)");
}

TEST(EngineChoices, OfTheCpuAreNames) {
  const EngineChoices before{.by_problem = {{"conv2d a", {.name = "winograd"}},
                                            {"conv2d_grad_input b", {.name = "product"}}}};
  const EngineChoices after = EngineChoices::from_json(before.to_json(), "engines.json");
  EXPECT_EQ(after.by_problem, before.by_problem);
  EXPECT_EQ(after.to_json(), before.to_json());
  EXPECT_EQ(after.card_name(), "the CPU");
}

TEST(EngineChoices, ACardAloneIsAPlan) {
  const std::string json = fmt::format(R"({{"card": {}}})", tests::kDescribedCard);
  const EngineChoices plan = EngineChoices::from_json(json, "card.json");
  EXPECT_TRUE(plan.by_problem.empty());
  EXPECT_EQ(plan.card_name(), choices().card_name());
}

TEST(EngineChoices, BadFilesGetOneLineThatNamesFileAndMember) {
  const std::string card = R"({"card": {"deviceName": "a", "deviceVer": 900,
                              "multiProcessorCount": 1}, )";
  const struct {
    std::string json, expected;
  } cases[] = {
      {"", "[plan.json] is not JSON at byte 1"},
      {"{", "[plan.json] is not JSON at byte 2"},
      {"[1e999]", "[plan.json] holds a number out of range"},
      {R"({"card": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}",
       "[plan.json] is nested deeper than 100 levels (it has 200010 bytes)"},
      {"[]", "[plan.json] member card, got none, expected a table"},
      {R"({"card": 1})", "[plan.json] member card, got 1, expected a table"},
      {R"({"card": {}})", "[plan.json] member deviceName, got none, expected a name"},
      {R"({"device": "tpu"})", "[plan.json] member device, got \"tpu\", expected cpu"},
      {R"({"device": "cpu"})", "[plan.json] member engines, got none, expected a table"},
      {R"({"device": "cpu", "engines": {"a": 1}})", "[plan.json] member a, got 1, expected a name"},
      {card + R"("engines": {}})", "[plan.json] member cudnn, got none, expected a whole number"},
      {card + R"("cudnn": 9, "engines": []})",
       "[plan.json] member engines, got [], expected a table"},
      {card + R"("cudnn": 9, "engines": {"a": {"engine": "x"}}})",
       "[plan.json] member engine, got \"x\", expected a whole number"},
      {card + R"("cudnn": 9, "engines": {"a": {"engine": 1, "knobs": 5}}})",
       "[plan.json] member knobs, got 5, expected a list of pairs of whole numbers"},
      {card + R"("cudnn": 9, "engines": {"a": {"engine": 1.5}}})",
       "[plan.json] member engine, got 1.5, expected a whole number"},
      {card + R"("cudnn": 9, "engines": {"a": {"engine": 1, "knobs": [], "finishes": true,
        "workspace_bytes": 1, "seconds": "x"}}})",
       "[plan.json] member seconds, got \"x\", expected a number"},
      {card + R"("cudnn": -9, "engines": {}})",
       "[plan.json] member cudnn, got -9, expected a whole number"},
      {card + R"("cudnn": 9, "engines": {"a": {"engine": 1, "knobs": [[1, 1e30]]}}})",
       "[plan.json] member knobs, got [[1,1e+30]], expected a list of pairs of whole numbers"},
      {card + R"("cudnn": 9, "engines": {"a": 4}})",
       "[plan.json] member engine, got none, expected a whole number"}};
  for (const auto& [json, expected] : cases) {
    const std::string& text = json;
    EXPECT_EQ(error_of([&] { EngineChoices::from_json(text, "plan.json"); }), expected);
  }
}

TEST(TimedEngines, HaveALineEach) {
  TimedEngines timed{
      .problem = "conv2d a",
      .engines = {{.choice = {.engine = 70, .knobs = {{2, 3}, {13, 1}}, .workspace_bytes = 131}},
                  {.choice = {.engine = 28, .finishes = true, .seconds = 1.25e-5}},
                  {.choice = {.engine = 1}, .failure = "[cudnnBackendExecute] refused"}},
      .chosen = 1};
  EXPECT_EQ(timed.str(),
            "candidate: conv2d a engine=70 knobs=2:3,13:1 finishes=false workspace=131 "
            "seconds=not-timed\n"
            "candidate: conv2d a engine=28 knobs= finishes=true workspace=0 seconds=1.250e-05 "
            "chosen\n"
            "candidate: conv2d a engine=1 knobs= finishes=false workspace=0 seconds=failed "
            "[cudnnBackendExecute] refused\n");
  timed.engines.resize(1);
  timed.chosen = 0;
  timed.refused_bytes = 4096;
  EXPECT_EQ(timed.str(),
            "candidate: conv2d a engine=70 knobs=2:3,13:1 finishes=false workspace=131 "
            "seconds=not-timed chosen\n"
            "not timed: conv2d a: the device refused 4096 bytes\n");
}

TEST(EngineChoices, AnotherCardIsRefused) {
  std::string other = tests::kDescribedCard;
  other.replace(other.find("132"), 3, "114");
  EXPECT_EQ(error_of([&] { require_same_card(choices(), other, 91900); }),
            "[plan] card, got a plan for NVIDIA H200 (compute capability 9.0, 132 "
            "multiprocessors), expected one for NVIDIA H200 (compute capability 9.0, 114 "
            "multiprocessors): multiProcessorCount");
}

// Members that change between starts do not matter.
TEST(EngineChoices, TheSameCardIsKnownAgain) {
  std::string again = tests::kDescribedCard;
  again.replace(again.find("13000"), 5, "13010");
  EXPECT_EQ(error_of([&] { require_same_card(choices(), again, 91900); }), "no error");
}

TEST(EngineChoices, AnotherCudnnIsRefusedWhereEnginesAreGiven) {
  EngineChoices plan = choices();
  EXPECT_EQ(error_of([&] { require_same_card(plan, plan.card, 92000); }),
            "[plan] cuDNN, got a plan for version 91900, expected 92000");
  plan.by_problem.clear();
  EXPECT_EQ(error_of([&] { require_same_card(plan, plan.card, 92000); }), "no error");
}

}  // namespace
}  // namespace skyline
