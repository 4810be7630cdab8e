#include "train/lab/strategies.h"

#include <gtest/gtest.h>

#include <map>

#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

// An MLP 784-256-128-10 on a batch of 100, without workspaces, because their sizes depend on the
// library. Bytes rounded to 512: images 313,856, labels 512, fc1 and its relu 102,400 each, fc2 and
// its relu 51,200 each, logits and probabilities 4,096 each, loss 512. Backward: gradients of the
// loss 512, of the logits 4,096, of fc3's input and of the relu before it 51,200 each, of fc2's
// input and of the relu before it 102,400 each.
StepGraph without_workspaces(Mode mode) {
  StepGraph graph =
      dry_run({.model = "mlp", .shape = {}, .batch_size = 100, .mode = mode}).step.graph;
  for (StepOp& op : graph.ops) op.workspace_bytes = 0;
  return graph;
}

constexpr std::uint64_t kImages = 313'856, kLabels = 512, kFc1 = 102'400, kFc2 = 51'200,
                        kLogits = 4'096, kLoss = 512;

std::uint64_t planned(const std::vector<Strategy>& strategies, const std::string& name) {
  for (const Strategy& strategy : strategies) {
    if (strategy.name == name) {
      EXPECT_TRUE(strategy.plan.proved_optimal) << name;
      return strategy.plan.peak;
    }
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(StrategiesTest, AnMlpByHand) {
  const auto strategies = strategies_of(without_workspaces(Mode::kTraining), "portfolio");
  ASSERT_EQ(strategies.size(), 5u);
  EXPECT_EQ(strategies[0].blocks, 15u);
  const std::uint64_t all = kImages + kLabels + 4 * kFc1 + 4 * kFc2 + 3 * kLogits + 2 * kLoss;
  EXPECT_EQ(planned(strategies, "none"), all);
  // Overwritten in place: the inputs of each relu, forward and backward; the logits by the
  // probabilities, and these by the gradient of the logits; the loss by its gradient.
  EXPECT_EQ(strategies[2].blocks, 8u);
  EXPECT_EQ(planned(strategies, "in place"), all - 2 * kFc1 - 2 * kFc2 - 2 * kLogits - kLoss);
  // The fullest tick is the backward relu of fc1. Live are its output, the gradient of its output,
  // the gradient it writes, and the images, which the weight gradient of fc1 still reads. In place,
  // the fullest tick is the product before it, which reads the gradient of fc2.
  EXPECT_EQ(planned(strategies, "sharing"), kImages + 3 * kFc1);
  EXPECT_EQ(planned(strategies, "both"), kImages + 2 * kFc1 + kFc2);
}

TEST(StrategiesTest, ForwardOnlyByHand) {
  const auto strategies = strategies_of(without_workspaces(Mode::kInference), "portfolio");
  ASSERT_EQ(strategies.size(), 4u);  // nothing to go back through
  // fc1 reads the images and writes its output; the labels are still needed.
  EXPECT_EQ(planned(strategies, "both"), kImages + kLabels + kFc1);
}

// At the loss every output is alive, and so is the gradient of each: without workspaces no strategy
// takes more.
TEST(StrategiesTest, BackPropagationHoldsOutputsAndGradients) {
  const StepGraph graph = without_workspaces(Mode::kTraining);
  const auto strategies = strategies_of(graph, "portfolio");
  EXPECT_EQ(strategies[1].name, "back-propagation");
  EXPECT_EQ(planned(strategies, "back-propagation"), planned(strategies, "none"));

  const SimulatedStep step = simulate_uses(back_propagated(graph), {.in_place = false});
  std::map<std::string, OpId> first, last;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].phase == Phase::kForward) first.try_emplace(graph.ops[op].layer, op);
    if (graph.ops[op].phase == Phase::kBackward) last[graph.ops[op].layer] = op;
  }
  ASSERT_EQ(last.count("fc2"), 1u);
  for (std::size_t block = 0; block < step.trace.size(); ++block) {
    const BlockTag& tag = step.trace.tags[block];
    EXPECT_EQ(tag.phase, Phase::kForward) << "no gradient has a request of its own";
    if (last.count(tag.layer) == 0) continue;  // the batch
    EXPECT_GE(step.trace.blocks[block].upper, step.begins[last[tag.layer]]) << tag.layer;
  }
}

TEST(StrategiesTest, BothIsWhatADryStepRecords) {
  const DryRunFacts facts = dry_run({.model = "lenet", .shape = {}, .batch_size = 8});
  const std::vector<Strategy> strategies = strategies_of(facts.step.graph, "portfolio");
  EXPECT_EQ(planned(strategies, "both"), lower_bound_bytes(facts.trace, 512));
  EXPECT_EQ(strategies.back().blocks, facts.trace.size());
}

}  // namespace
}  // namespace skyline
