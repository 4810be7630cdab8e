#include "train/decide/program_graph.h"

#include <gtest/gtest.h>

#include <sstream>

#include "memory/alignment.h"
#include "memory/formats/graph_file.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "tests/train/images/small_training.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

using tests::small_model_names;
using tests::small_shape;

DryRunOptions options_of(const std::string& model, Mode mode, bool in_place) {
  return {.model = model,
          .shape = small_shape(model),
          .batch_size = 4,
          .mode = mode,
          .step = {.in_place = in_place, .order = "program"}};
}

StepGraph graph_of(const DryRunFacts& facts, bool in_place) {
  return program_graph(facts.step.graph, in_place, facts.resident_bytes);
}

GraphFile written_and_read(const StepGraph& graph) {
  std::stringstream text;
  write_graph(text, graph, "a step");
  return read_graph(text, "a step");
}

Trace rounded(Trace trace) {
  for (TraceBlock& block : trace.blocks) {
    block.bytes = align_up(block.bytes, std::uint64_t{kAlignmentBytes});
  }
  return trace;
}

template <typename Check>
void for_all_steps(const Check& check) {
  for (const std::string& model : small_model_names()) {
    for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
      for (const bool in_place : {true, false}) {
        SCOPED_TRACE(model + (mode == Mode::kTraining ? ", training" : ", inference") +
                     (in_place ? "" : ", out of place"));
        check(dry_run(options_of(model, mode, in_place)), in_place);
      }
    }
  }
}

TEST(ProgramGraph, ReadBackItMakesTheRecordedRequests) {
  for_all_steps([](const DryRunFacts& facts, bool in_place) {
    const GraphFile file = written_and_read(graph_of(facts, in_place));
    ASSERT_GT(facts.trace.size(), 5u);
    EXPECT_TRUE(simulate(file.graph).same_requests(rounded(facts.trace)));
    EXPECT_EQ(resident_bytes(file.graph), facts.resident_bytes);
  });
}

TEST(ProgramGraph, ItsOrdersPeakAsThoseOfTheRecordedStep) {
  for_all_steps([](const DryRunFacts& facts, bool in_place) {
    const StepGraph graph = graph_of(facts, in_place);
    const GraphFile file = written_and_read(graph);
    const OrderProblem problem = order_problem(file.graph, {});
    EXPECT_EQ(order_peak(problem, program_sequence(problem)),
              lower_bound_bytes(facts.trace, kAlignmentBytes));
    const OrderAnswer of_step = order(graph), of_file = order(file.graph);
    EXPECT_EQ(of_step.peak, of_file.peak);
    EXPECT_EQ(of_step.lower_bound, of_file.lower_bound);
  });
}

// Sizes 500 and 510 are both served as 512.
TEST(ProgramGraph, SizesThatRoundToOneAreNotWrittenInPlace) {
  const StepGraph graph{
      .values = {{.bytes = 500, .storage = 0},
                 {.bytes = 510, .storage = 1},
                 {.bytes = 510, .storage = 2}},
      .ops = {
          {.name = "a", .outputs = {0}},
          {.name = "b", .inputs = {0}, .outputs = {1}, .workspace_bytes = 1, .in_place = {{0, 0}}},
          {.name = "c", .inputs = {1}, .outputs = {2}, .in_place = {{0, 0}}}}};
  const StepGraph rounded_graph = program_graph(graph, true, 100);
  EXPECT_TRUE(rounded_graph.ops[1].in_place.empty());
  EXPECT_EQ(rounded_graph.ops[2].in_place.size(), 1u);
  EXPECT_EQ(rounded_graph.ops[1].workspace_bytes, 512u);
  EXPECT_EQ(rounded_graph.values[0].bytes, 512u);
  EXPECT_EQ(resident_bytes(rounded_graph), 100u);
  EXPECT_TRUE(program_graph(graph, false, 0).ops[2].in_place.empty());
}

// The update would otherwise be free to run before an op that reads the old parameter.
TEST(ProgramGraph, UpdatesWaitForReaders) {
  const StepGraph graph{
      .values = {{.bytes = 512, .resident = true, .storage = 0}, {.bytes = 512, .storage = 1}},
      .ops = {{.name = "read", .inputs = {0}, .outputs = {1}},
              {.name = "update", .phase = Phase::kUpdate, .outputs = {0}}}};
  EXPECT_EQ(program_graph(graph, true, 512).ops[1].after, std::vector<OpId>{0});
}

}  // namespace
}  // namespace skyline
