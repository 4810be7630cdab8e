#include "train/lab/order/step_order_view.h"

#include <algorithm>
#include <utility>

#include "framework/op.h"
#include "memory/order/order_problem.h"
#include "train/lab/order/program_graph.h"

namespace skyline {
namespace {

StepGraph named_by_layer(StepGraph graph) {
  for (StepOp& op : graph.ops) op.name = op_of_layer(op.name, op.layer);
  return graph;
}

// The curve of a graph whose ops have these numbers in the program.
OrderCurve curve_of(const StepGraph& graph, std::vector<OpId> numbers, bool in_place) {
  const OrderProblem problem = order_problem(graph, step_order_options(in_place));
  return {.order = std::move(numbers), .bytes = order_bytes(problem, program_sequence(problem))};
}

void add_resident(OrderView& view, std::uint64_t bytes) {
  view.resident_bytes = bytes;
  for (OrderCurve* curve : {&view.before, &view.after}) {
    for (std::uint64_t& alive : curve->bytes) alive += bytes;
  }
  view.lower_bound += bytes;
  view.least_known += bytes;
}

}  // namespace

OrderView step_order_view(const DryRunFacts& whole, const StepOptions& options) {
  const DryRunFacts step = last_batch(whole);
  std::vector<OpId> as_written = step.program_numbers;
  std::ranges::sort(as_written);
  const StepGraph program =
      named_by_layer(in_program_sequence(step.step.graph, step.program_numbers));
  const StepOrder found = step_order({.program = program,
                                      .executed = step.step.graph,
                                      .algorithm = options.order,
                                      .in_place = options.in_place});
  OrderView view{.algorithm = found.algorithm,
                 .before = curve_of(program, std::move(as_written), options.in_place),
                 .after = curve_of(step.step.graph, step.program_numbers, options.in_place),
                 .lower_bound = found.lower_bound,
                 .forward_as_written = found.lower_bound > found.free_lower_bound,
                 .least_known = found.free};
  for (const StepOp& op : program.ops) view.names.push_back(op.name);
  if (found.explanation) explain(view, program, *found.explanation);
  add_resident(view, step.resident_bytes);
  return view;
}

}  // namespace skyline
