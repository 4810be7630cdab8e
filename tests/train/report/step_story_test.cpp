#include "train/report/step_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "framework/graph_text.h"
#include "framework/ops/normalization/batch_norm.h"
#include "tests/train/images/small_training.h"
#include "train/decide/step_seconds.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/lab/order/step_order.h"
#include "train/lab/strategies.h"

namespace skyline {
namespace {

using Kind = BlockUse::Kind;

DryRunFacts step_of(const std::string& model) {
  return dry_run({.model = model, .shape = tests::small_shape(model), .batch_size = 4});
}

std::optional<StepStory> story_of(const DryRunFacts& facts, const Trace& trace) {
  return step_story(
      facts.step, trace, true,
      {.of = std::vector<double>(facts.step.graph.ops.size(), 0.5), .source = "here"});
}

// Every block is requested once, before its other uses, and lives until its last reader ends.
TEST(StepStory, TellsTheUsesOfEveryBlock) {
  for (const char* model : {"mlp", "lenet", "resnet20"}) {
    SCOPED_TRACE(model);
    const DryRunFacts facts = step_of(model);
    const auto story = story_of(facts, facts.trace);
    ASSERT_TRUE(story);
    ASSERT_EQ(story->ops.size(), facts.step.graph.ops.size());
    std::vector<const BlockUse*> last(facts.trace.size());
    for (const BlockUse& use : story->uses) {
      EXPECT_EQ(use.kind == Kind::kRequest, last[use.block] == nullptr) << use.block;
      last[use.block] = &use;
    }
    for (std::size_t block = 0; block < facts.trace.size(); ++block) {
      ASSERT_NE(last[block], nullptr);
      const OpId op = last[block]->op;
      const Tick upper = facts.trace.blocks[block].upper;
      EXPECT_GE(upper, story->ops[op].begins) << block;
      if (op + 1 == story->ops.size()) continue;
      EXPECT_LE(upper, story->ops[op + 1].begins) << block;
    }
  }
}

// Mean and variance of a batch normalization are kept.
TEST(StepStory, CountsWhatRunsAgain) {
  const DryRunFacts facts = step_of("resnet20");
  const auto story = model_story(facts.step, facts.trace, {});
  ASSERT_TRUE(story);
  const std::vector<double> seconds = foreseen_seconds(facts.step, assumed_speed("cpu"));
  for (std::size_t op = 0; op < seconds.size(); ++op) {
    const double share = facts.step.graph.ops[op].name == kBatchNorm ? 2.0 / 3 : 1;
    EXPECT_DOUBLE_EQ(story->ops[op].seconds, share * seconds[op]) << story->ops[op].name;
  }
}

TEST(StepStory, GivesTheReasonOfSkylineGraph) {
  const DryRunFacts facts = step_of("lenet");
  const auto story = story_of(facts, facts.trace);
  ASSERT_TRUE(story);
  for (const BlockUse& use : story->uses) {
    if (use.kind != Kind::kRequest) continue;
    const bool workspace = facts.trace.tags[use.block].category == Category::kWorkspace;
    EXPECT_EQ(story->reasons[use.block].empty(), workspace);
    if (workspace) continue;
    const std::vector<ValueId>& outputs = facts.step.graph.ops[use.op].outputs;
    const auto output = std::ranges::find(outputs, use.value) - outputs.begin();
    EXPECT_EQ(story->reasons[use.block],
              memory_text(facts.step, use.op, static_cast<std::size_t>(output)));
  }
}

TEST(StepStory, TheCurvesOfTheStrategiesPeakAtTheirLowerBounds) {
  const DryRunFacts facts = step_of("lenet");
  const auto story = story_of(facts, facts.trace);
  ASSERT_TRUE(story);
  std::vector<Strategy> planned = strategies_of(facts.step.graph, "portfolio");
  std::erase_if(planned, [](auto& row) { return row.name == "back-propagation"; });
  ASSERT_EQ(story->strategies.size(), planned.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    EXPECT_EQ(story->strategies[i].name, planned[i].name);
    EXPECT_EQ(std::ranges::max(story->strategies[i].bytes), planned[i].plan.lower_bound);
    EXPECT_EQ(story->strategies[i].bytes.size(), story->ops.size());
  }
}

TEST(StepStory, TellsOfThePlanForSeveralStepsInItsBytes) {
  const DryRunFacts facts = step_of("lenet");
  Trace larger = facts.trace;
  for (TraceBlock& block : larger.blocks) block.bytes = align_request(2 * block.bytes);
  const auto story = story_of(facts, larger);
  ASSERT_TRUE(story);
  EXPECT_EQ(std::ranges::max(story->strategies.back().bytes),
            lower_bound_bytes(larger, kAlignmentBytes));
  EXPECT_EQ(story->reasons, story_of(facts, facts.trace)->reasons);
}

TEST(StepStory, TellsNothingOfAnotherTrace) {
  const DryRunFacts facts = step_of("lenet");
  Trace other = facts.trace;
  ++other.blocks.back().upper;
  EXPECT_FALSE(story_of(facts, other));
  EXPECT_FALSE(story_of(facts, {}));
}

TEST(StepStory, WritesTheKeysThatThePageReads) {
  const DryRunFacts facts = step_of("mlp");
  const auto told = to_json(*story_of(facts, facts.trace));
  EXPECT_EQ(told["ops"][1].size(), 3u);
  EXPECT_EQ(told["ops"][1][2], 0.5);
  EXPECT_EQ(told["uses"][0].size(), 3u);
  EXPECT_EQ(told["reasons"].size(), facts.trace.size());
  EXPECT_EQ(told["strategies"].size(), 4u);
  EXPECT_EQ(told["seconds_source"], "here");
}

}  // namespace
}  // namespace skyline
