// Dry runs of ops as Chainer 3 has them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "models/models.h"
#include "tests/train/commands/skyline_program.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

DryRunFacts step_of(const std::string& model, Mode mode, bool as_chainer) {
  return dry_run({.model = model,
                  .shape = find_model(model).shape,
                  .batch_size = 2,
                  .mode = mode,
                  .emulate = {.convolution_workspace_bytes = 0, .chainer_ops = as_chainer}});
}

std::ptrdiff_t count(const DryRunFacts& facts, std::string_view op) {
  return std::ranges::count(facts.step.graph.ops, op, &StepOp::name);
}

TEST(AsChainerTest, EveryReluIsAnOpOfItsOwn) {
  const struct {
    const char* model;
    std::ptrdiff_t relus;
  } cases[] = {{"alexnet", 7},
               {"resnet50", 1 + 16 * 3},
               // Three convolutions in front, and two reductions and the joint in each module.
               {"googlenet", 3 + 9 * 3}};
  for (const auto& [model, relus] : cases) {
    EXPECT_EQ(count(step_of(model, Mode::kInference, true), "relu"), relus) << model;
    EXPECT_LT(count(step_of(model, Mode::kInference, false), "relu"), relus) << model;
  }
  const DryRunFacts training = step_of("resnet50", Mode::kTraining, true);
  EXPECT_EQ(count(training, "relu_grad"), 1 + 16 * 3);
  EXPECT_EQ(count(training, "add"), 16) << "and the sums of residuals are ops of their own, too";
}

// Ours normalizes a projection's branch where its block ends.
TEST(AsChainerTest, EveryNormalizationIsAnOpOfItsOwn) {
  for (const auto& [model, normalizations, projections] :
       {std::tuple("resnet18", 1 + 8 * 2 + 3, 3), {"resnet50", 1 + 16 * 3 + 4, 4}}) {
    for (const bool as_chainer : {false, true}) {
      const std::ptrdiff_t ops = normalizations - (as_chainer ? 0 : projections);
      const DryRunFacts training = step_of(model, Mode::kTraining, as_chainer);
      EXPECT_EQ(count(training, "batch_norm"), ops) << model;
      EXPECT_EQ(count(training, "batch_norm_grad") + count(training, "batch_norm_grad_of_sum"), ops)
          << model;
      const DryRunFacts inference = step_of(model, Mode::kInference, as_chainer);
      EXPECT_EQ(count(inference, "batch_norm_inference"), ops) << model;
    }
  }
}

TEST(AsChainerTest, NothingIsWrittenInPlaceAndGradientsAreAddedInPairs) {
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    for (const char* model : {"alexnet", "googlenet", "resnet50", "inception-resnet"}) {
      const DryRunFacts facts = step_of(model, mode, true);
      for (std::size_t op = 0; op < facts.step.graph.ops.size(); ++op) {
        const StepOp& ran = facts.step.graph.ops[op];
        EXPECT_TRUE(ran.name != "sum" || ran.inputs.size() == 2) << model;
        if (std::ranges::any_of(ran.outputs, [&](ValueId value) {
              return facts.step.graph.values[value].resident;
            })) {
          continue;
        }
        for (const OutputMemory& memory : facts.step.memory[op]) {
          EXPECT_TRUE(memory.input < 0 || ran.name == "reshape") << model << ", " << ran.name;
        }
      }
    }
  }
}

TEST(AsChainerTest, AnLstmPacksItsWeightsInEachCall) {
  const auto packed = [](bool as_chainer, Mode mode) {
    const DryRunFacts facts = dry_run({.model = std::string(kSeq2Seq),
                                       .sentence_words = 5,
                                       .batch_size = 2,
                                       .mode = mode,
                                       .optimizer = {.name = "adam"},
                                       .emulate = {.chainer_ops = as_chainer}});
    constexpr std::uint64_t kWeights = 4ull * 3 * 4 * 1024 * (1024 + 1024 + 2);
    std::vector<TraceBlock> blocks;
    for (std::size_t k = 0; k < facts.trace.size(); ++k) {
      if (facts.trace.tags[k].op == "lstm" && facts.trace.blocks[k].bytes == kWeights) {
        blocks.push_back(facts.trace.blocks[k]);
      }
    }
    return blocks;
  };
  EXPECT_TRUE(packed(false, Mode::kTraining).empty());
  const std::vector<TraceBlock> inference = packed(true, Mode::kInference);
  ASSERT_EQ(inference.size(), 2u) << "encoder and decoder";
  EXPECT_LE(inference[0].upper, inference[1].lower) << "freed behind the call";
  const std::vector<TraceBlock> training = packed(true, Mode::kTraining);
  ASSERT_EQ(training.size(), 2u);
  EXPECT_GT(training[0].upper, training[1].lower) << "kept for backward";
}

TEST(AsChainerTest, MakesADryRun) {
  SimulatedDevice device;
  const auto allocator = make_allocator("network-wise", device);
  EXPECT_FALSE(Context(*allocator, as_chainer({})).executes());
  const Context::Options given{.dry_run = {{.convolution_workspace_bytes = 7}}};
  EXPECT_EQ(as_chainer(given).dry_run->convolution_workspace_bytes, 7u);
}

TEST(AsChainerTest, TheCommandSaysSo) {
  const Outcome outcome = skyline_program({"dry-run", "--model", "resnet50", "--as-chainer"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.output, testing::HasSubstr("ops and their memory as in Chainer 3"));
  EXPECT_EQ(skyline_program({"dry-run", "--as-chainer", "--budgets"}).exit_code, 2);
}

}  // namespace
}  // namespace skyline
