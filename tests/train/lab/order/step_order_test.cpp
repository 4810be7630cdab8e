#include "train/lab/order/step_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "memory/alignment.h"
#include "memory/order/control_edges.h"
#include "memory/order/order.h"
#include "tests/train/images/small_training.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using tests::small_model_names;
using tests::small_shape;

struct OrderedStep {
  std::string model;
  Mode mode = Mode::kTraining;
  StepOptions step = {};

  DryRunFacts run(const std::string& order) const {
    DryRunOptions options{
        .model = model, .shape = small_shape(model), .batch_size = 4, .mode = mode, .step = step};
    options.step.order = order;
    return dry_run(options);
  }
};

std::vector<OrderedStep> ordered_cases() {
  std::vector<OrderedStep> cases;
  for (const std::string& model : small_model_names()) {
    for (const bool in_place : {true, false}) {
      cases.push_back({model, Mode::kInference, {.in_place = in_place}});
      for (const bool fused_update : {true, false}) {
        for (const std::int64_t recompute : {0, 2}) {
          cases.push_back(
              {model,
               Mode::kTraining,
               {.in_place = in_place, .recompute = recompute, .fused_update = fused_update}});
        }
      }
    }
  }
  return cases;
}

// The order that is searched for the backward pass alone is as good as one of the whole step.
TEST(StepOrder, TheExecutedPeakIsThatOfTheTraceAndOfTheBestOrder) {
  for (const OrderedStep& one : ordered_cases()) {
    SCOPED_TRACE(one.model + (one.mode == Mode::kTraining ? ", training" : ", inference") +
                 (one.step.fused_update ? ", fused update" : "") +
                 (one.step.recompute > 0 ? ", recompute" : "") +
                 (one.step.in_place ? "" : ", out of place"));
    const DryRunFacts program = one.run("program"), executed = one.run("optimal");
    const StepOrder found = step_order({.program = program.step.graph,
                                        .executed = executed.step.graph,
                                        .algorithm = "optimal",
                                        .in_place = one.step.in_place});
    EXPECT_EQ(found.peak, lower_bound_bytes(executed.trace, kAlignmentBytes));
    EXPECT_EQ(found.program, lower_bound_bytes(program.trace, kAlignmentBytes));
    EXPECT_LE(found.peak, found.program);
    EXPECT_LE(found.peak, found.early);
    EXPECT_LE(found.free, found.peak);
    EXPECT_LE(found.free_lower_bound, found.free);
    EXPECT_LE(found.free_lower_bound, found.lower_bound);
    EXPECT_TRUE(found.proved_optimal()) << found.peak << " and " << found.lower_bound;
    StepGraph kept = program.step.graph;
    add_resident_edges(kept);
    keep_forward_sequence(kept);
    const OrderOptions options{.in_place = one.step.in_place, .alignment = kAlignmentBytes};
    EXPECT_EQ(found.peak, order(kept, kDefaultOrder, options).peak);
  }
}

// Forward ops are not reordered, so each network has to be written in a good order. The label of
// one image fills a unit of memory, a tenth of mlp's step, and is uploaded before it is needed.
// Large workspaces would loosen the bound.
TEST(StepOrder, AnotherForwardOrderSavesLessThanAHundredth) {
  for (const ModelEntry& model : models()) {
    for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
      SCOPED_TRACE(std::string(model.name) + (mode == Mode::kTraining ? ", training" : ""));
      const DryRunOptions one_image{.model = std::string(model.name),
                                    .shape = model.shape,
                                    .batch_size = 1,
                                    .mode = mode,
                                    .compute = std::make_shared<CpuCompute>(
                                        CpuOptions{.engines = CpuOptions::Engines::kDirect})};
      const StepGraph graph = dry_run(one_image).step.graph;
      const StepOrder found =
          step_order({.program = graph, .executed = graph, .algorithm = "optimal"});
      EXPECT_GE(100 * (found.free_lower_bound + kAlignmentBytes), 99 * found.peak);
    }
  }
}

// The program reads the large value of the first op late; only another forward order drops it
// before the workspace.
StepGraph late_reader() {
  return {.values = {{.bytes = 4096, .storage = 0}, {.bytes = 512, .storage = 1}},
          .ops = {{.name = "large", .outputs = {0}},
                  {.name = "other", .workspace_bytes = 8192},
                  {.name = "reads", .inputs = {0}, .outputs = {1}}}};
}

TEST(StepOrder, SaysWhatTheForwardSequenceCosts) {
  const StepGraph graph = late_reader();
  StepOrder found =
      step_order({.program = graph, .executed = graph, .algorithm = "program", .in_place = true});
  found.placed = 12'288;
  EXPECT_EQ(found.program, 12'288u);
  EXPECT_EQ(found.peak, 12'288u);
  EXPECT_EQ(found.lower_bound, 12'288u);
  EXPECT_EQ(found.free, 8192u);
  EXPECT_EQ(found.free_lower_bound, 8192u);
  EXPECT_EQ(found.text(),
            "order      program: 12 KiB (program 12 KiB, early 12 KiB,\n"
            "           late 12 KiB), placed in 12 KiB;\n"
            "           with forward as written, no order needs less\n"
            "           with forward in any order: 8 KiB, 4 KiB less (proved)\n");
  const nlohmann::ordered_json json = to_json(found);
  EXPECT_EQ(json["algorithm"], "program");
  EXPECT_EQ(json["peak"], 12'288);
  EXPECT_EQ(json["proved_optimal"], true);
  EXPECT_EQ(json["free"], 8192);
  EXPECT_EQ(json["free_proved_optimal"], true);
  EXPECT_EQ(json["placed"], 12'288);
}

// The same ops, but backward may move.
TEST(StepOrder, AnExecutedOrderThatIsNotTheBestIsNotCalledSo) {
  StepGraph graph = late_reader();
  for (StepOp& op : graph.ops) op.phase = Phase::kBackward;
  const StepOrder found =
      step_order({.program = graph, .executed = graph, .algorithm = "program", .in_place = true});
  EXPECT_EQ(found.peak, 12'288u);
  EXPECT_EQ(found.lower_bound, 8192u);
  EXPECT_FALSE(found.proved_optimal());
  EXPECT_THAT(found.text(), HasSubstr("with forward as written, at least 8 KiB\n"));
}

}  // namespace
}  // namespace skyline
