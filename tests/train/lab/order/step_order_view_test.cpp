#include "train/lab/order/step_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/alignment.h"
#include "memory/order/order_problem.h"
#include "tests/train/images/small_training.h"
#include "train/decide/program_graph.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DryRunOptions options_of(const std::string& model, const StepOptions& step) {
  DryRunOptions options{.model = model, .batch_size = 4, .step = step};
  if (model == kSeq2Seq) {
    options.translation = {.source_words = 300, .target_words = 300, .layers = 2, .units = 16};
    options.sentence_words = 6;
    options.optimizer = {.name = "adam"};
  } else {
    options.shape = tests::small_shape(model);
  }
  return options;
}

std::vector<DryRunOptions> all_steps() {
  std::vector<DryRunOptions> steps;
  for (const std::string model : {"mlp", "lenet", "resnet20", "seq2seq", "unrolled"}) {
    for (const std::string order : {"optimal", "early", "program"}) {
      for (const bool fused : {false, true}) {
        const bool unrolled = model == "unrolled";
        steps.push_back(
            options_of(unrolled ? std::string(kSeq2Seq) : model,
                       {.recompute = fused ? 2 : 0, .fused_update = fused, .order = order}));
        steps.back().translation.unroll = unrolled;
      }
    }
  }
  return steps;
}

std::string name_of(const DryRunOptions& step) {
  return step.model + (step.translation.unroll ? ", unrolled, " : ", ") + step.step.order +
         (step.step.fused_update ? ", fused update" : "");
}

StepGraph dry_graph(DryRunOptions options, std::string_view order) {
  options.step.order = order;
  return dry_run(options).step.graph;
}

TEST(StepOrderView, PeaksAreThoseOfStepOrderOnSeparateDryRuns) {
  for (const DryRunOptions& options : all_steps()) {
    SCOPED_TRACE(name_of(options));
    const OrderView view = step_order_view(dry_run(options), options.step);
    const StepGraph program = dry_graph(options, kProgramOrder);
    const StepGraph executed = dry_graph(options, options.step.order);
    const StepOrder found =
        step_order({.program = program, .executed = executed, .algorithm = options.step.order});
    EXPECT_GT(view.resident_bytes, 0u);
    EXPECT_EQ(view.program(), view.resident_bytes + found.program);
    EXPECT_EQ(view.peak(), view.resident_bytes + found.peak);
    EXPECT_EQ(view.lower_bound, view.resident_bytes + found.lower_bound);
    EXPECT_EQ(view.least_known, view.resident_bytes + found.free);
    EXPECT_EQ(view.algorithm, options.step.order);
    EXPECT_FALSE(view.sentence.empty());
    EXPECT_THAT(view.cut, testing::Not(IsEmpty()));
  }
}

// The numbers tell which op of the program runs where.
TEST(StepOrderView, NumbersNameTheExecutedOps) {
  for (const DryRunOptions& options : all_steps()) {
    SCOPED_TRACE(name_of(options));
    const DryRunFacts facts = dry_run(options);
    const OrderView view = step_order_view(facts, options.step);
    const StepGraph program = dry_graph(options, kProgramOrder);
    ASSERT_EQ(view.names.size(), program.ops.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const StepOp& op = facts.step.graph.ops[i];
      EXPECT_EQ(program.ops[view.after.order[i]].name, op.name) << i;
      EXPECT_EQ(program.ops[view.after.order[i]].layer, op.layer) << i;
    }
    const OrderProblem problem = order_problem(program, step_order_options(true));
    std::vector<std::uint64_t> bytes = order_bytes(problem, view.after.order);
    for (std::uint64_t& alive : bytes) alive += view.resident_bytes;
    EXPECT_EQ(bytes, view.after.bytes) << "the program's graph, run in this order";
    EXPECT_EQ(view.before.order, program_sequence(problem));
  }
}

TEST(StepOrderView, TheProgramsSequenceIsRecoveredFromTheExecutedOne) {
  for (const DryRunOptions& options : all_steps()) {
    SCOPED_TRACE(name_of(options));
    const DryRunFacts facts = dry_run(options);
    const StepGraph sorted = in_program_sequence(facts.step.graph, facts.program_numbers);
    EXPECT_TRUE(simulate(sorted).same_requests(simulate(dry_graph(options, kProgramOrder))));
  }
}

TEST(StepOrderView, FusedUpdatesOfSeq2SeqMoveAndSave) {
  const DryRunOptions options = options_of(std::string(kSeq2Seq), {.fused_update = true});
  const OrderView view = step_order_view(dry_run(options), options.step);
  EXPECT_LT(view.peak(), view.program());
  EXPECT_NE(view.after.order, view.before.order);
  EXPECT_EQ(view.peak(), view.lower_bound);
  EXPECT_THAT(view.sentence, HasSubstr("must be there"));
}

}  // namespace
}  // namespace skyline
