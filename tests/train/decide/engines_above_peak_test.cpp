#include "train/decide/engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "framework/engines/engine_choices.h"
#include "train/images/image_run.h"

namespace skyline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kBlock = 512;

// Ops a, b, c, ... in a chain: each writes a value of `blocks[i]` that the next one reads.
DryRunFacts chain(const std::vector<std::uint64_t>& blocks,
                  const std::vector<std::uint64_t>& workspaces) {
  DryRunFacts facts;
  StepGraph& graph = facts.step.graph;
  for (ValueId i = 0; i < blocks.size(); ++i) {
    graph.values.push_back({.bytes = blocks[i] * kBlock, .storage = i});
    StepOp op{.name = std::string(1, static_cast<char>('a' + i)), .outputs = {i}};
    if (i > 0) op.inputs = {i - 1};
    op.workspace_bytes = workspaces[i] * kBlock;
    graph.ops.push_back(std::move(op));
  }
  facts.program_numbers.resize(blocks.size());
  std::iota(facts.program_numbers.begin(), facts.program_numbers.end(), OpId{0});
  return facts;
}

// The peak is that of op c: 3 + 4 blocks. Ops a, b and d have 6, 4 and 2 blocks to spare.
const std::vector<std::uint64_t> kBlocks = {1, 2, 3, 1};
const DryRunFacts kDirectStep = chain(kBlocks, {0, 0, 2, 1});

std::set<std::string> above_peak(const std::vector<std::uint64_t>& workspaces) {
  DryRunFacts by_rule = chain(kBlocks, workspaces);
  for (OpId op = 0; op < kBlocks.size(); ++op) {
    if (by_rule.step.graph.ops[op].workspace_bytes ==
        kDirectStep.step.graph.ops[op].workspace_bytes)
      continue;
    by_rule.step.engines[op] = {
        .problem = by_rule.step.graph.ops[op].name, .engine = "winograd", .smaller = "direct"};
  }
  return engines_above_peak(kDirectStep, by_rule);
}

TEST(EnginesAbovePeak, AreThoseThatNeedMoreThanTheStepWithDirectKernels) {
  EXPECT_THAT(above_peak({6, 4, 2, 3}), IsEmpty());
  EXPECT_THAT(above_peak({7, 4, 2, 3}), ElementsAre("a"));
  EXPECT_THAT(above_peak({6, 5, 2, 3}), ElementsAre("b"));
  EXPECT_THAT(above_peak({6, 4, 3, 4}), UnorderedElementsAre("c", "d"));
}

// The step with direct kernels runs b before a; so a has the bytes of b beside it.
TEST(EnginesAbovePeak, AreFoundInTheOrderOfDirectKernels) {
  DryRunFacts direct;
  direct.step.graph.values = {{.bytes = 4 * kBlock, .storage = 0},
                              {.bytes = 2 * kBlock, .storage = 1}};
  direct.step.graph.ops = {{.name = "b", .outputs = {1}},
                           {.name = "a", .outputs = {0}, .workspace_bytes = kBlock},
                           {.name = "c", .inputs = {0, 1}}};
  direct.program_numbers = {1, 0, 2};
  DryRunFacts by_rule = direct;
  std::swap(by_rule.step.graph.ops[0], by_rule.step.graph.ops[1]);
  by_rule.program_numbers = {0, 1, 2};
  by_rule.step.graph.ops[0].workspace_bytes = 2 * kBlock;
  by_rule.step.engines[0] = {.problem = "a", .engine = "winograd", .smaller = "direct"};
  EXPECT_THAT(engines_above_peak(direct, by_rule), ElementsAre("a"));
  by_rule.step.graph.ops[0].workspace_bytes = kBlock;
  EXPECT_THAT(engines_above_peak(direct, by_rule), IsEmpty());
}

// The peak without workspaces is that of op c, 5 blocks. Ops a, b and d have 4, 2 and 1 to spare,
// one of which may be lost where sizes are rounded; one block is always free.
TEST(WorkspacesWithinPeak, AreWhatThePeakHasRoomFor) {
  DryRunFacts step = chain(kBlocks, {5, 3, 1, 3});
  EXPECT_THAT(workspaces_within_peak(step), IsEmpty()) << "no engines";
  for (OpId op = 0; op < kBlocks.size(); ++op) {
    step.step.engines[op] = {.problem = step.step.graph.ops[op].name, .engine = {}, .smaller = {}};
  }
  EXPECT_THAT(workspaces_within_peak(step),
              UnorderedElementsAre(Pair("a", 3 * kBlock), Pair("b", kBlock), Pair("c", kBlock),
                                   Pair("d", kBlock)));
  step.step.engines[1].problem = "a";
  EXPECT_THAT(workspaces_within_peak(step),
              UnorderedElementsAre(Pair("a", kBlock), Pair("c", kBlock), Pair("d", kBlock)));
  // Op d needs 6 blocks with any engine, so that a, b and c have enough room.
  step.step.engines[3].smaller_workspace_bytes = 2 * kBlock;
  EXPECT_THAT(workspaces_within_peak(step), UnorderedElementsAre(Pair("d", kBlock)));
}

// The peak is that of op d: 4 blocks and its workspace. Op a has 6 to spare, one of which may be
// lost.
TEST(WorkspacesWithinPeak, AreToldToKernelsThatWantRoom) {
  DryRunFacts step = chain(kBlocks, {0, 3, 1, 3});
  step.step.engines[0] = {.problem = "a", .engine = {}, .smaller = {}, .wants_room = true};
  step.step.engines[1] = {.problem = "b", .engine = {}, .smaller = {}};
  EXPECT_THAT(workspaces_within_peak(step), IsEmpty());
  EXPECT_THAT(workspaces_within_peak(step, true), ElementsAre(Pair("a", 5 * kBlock)));
}

// Chosen with these options of a context, for vgg16 with 4 images.
std::set<std::string> chosen(CpuOptions cpu, const Context::Options& options = {},
                             StepShares shares = {}) {
  EngineChoices choices;
  cpu.choices = &choices;
  Context::Options context = options;
  context.compute = std::make_shared<CpuCompute>(cpu);
  const ModelShape& shape = find_model("vgg16").shape;
  DryRun run(std::make_unique<ImageRun>(
      dry_memory(), dry_context(context, Mode::kTraining),
      ImageRunOptions{.model = "vgg16", .shape = shape, .shares = shares}));
  run.foresee(4, Mode::kTraining);
  return choices.above_peak[4];
}

// The bits of a run must not depend on its options.
TEST(EnginesAbovePeak, AreTheSameForAllOptionsOfAStep) {
  const std::set<std::string> plain = chosen({});
  EXPECT_EQ(chosen({.lanes = 2}), plain);
  EXPECT_EQ(chosen({}, {.in_place = false}), plain);
  EXPECT_EQ(chosen({}, {.recompute = 4}), plain);
  EXPECT_EQ(chosen({}, {.fused_update = true}), plain);
  EXPECT_EQ(chosen({}, {}, {.micro_batches = 2}), plain);
}

TEST(EnginesAbovePeak, AreNotAskedForWhereEnginesAreGiven) {
  EXPECT_THAT(chosen({.engines = CpuOptions::Engines::kDirect}), IsEmpty());
}

}  // namespace
}  // namespace skyline
