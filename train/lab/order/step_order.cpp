#include "train/lab/order/step_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/op.h"
#include "memory/alignment.h"
#include "memory/order/baselines.h"
#include "memory/order/control_edges.h"
#include "memory/order/optimal_order.h"
#include "memory/order/order_problem.h"
#include "train/cli/byte_sizes.h"
#include "train/decide/program_graph.h"
#include "train/decide/step_seconds.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMostStates = 10'000;  // a second at most

std::uint64_t program_peak(const OrderProblem& problem) {
  return order_peak(problem, program_sequence(problem));
}

std::string bound_text(const StepOrder& order) {
  if (order.proved_optimal()) return "no order needs less";
  return fmt::format("at least {}", format_bytes(order.lower_bound));
}

std::string free_text(const StepOrder& order) {
  std::string text = format_bytes(order.free);
  if (order.free < order.peak) {
    text += fmt::format(", {} less", format_bytes(order.peak - order.free));
  }
  if (order.free_proved_optimal()) return text + " (proved)";
  return text + fmt::format(" (at least {})", format_bytes(order.free_lower_bound));
}

// The best order of a graph, and why none is better.
struct Searched {
  OrderAnswer answer;
  std::optional<BoundExplanation> explanation;
};

Searched searched(const StepGraph& graph, const OrderOptions& options) {
  OrderAnswer answer = order(graph, kDefaultOrder, options);
  auto explanation = explain_bound(order_problem(graph, options), answer.certificate);
  return {std::move(answer), std::move(explanation)};
}

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

Rows<StepOrder> rows(const StepOrder*) {
  return {{"algorithm", "what ordered the ops", &StepOrder::algorithm},
          {"program", kBytes, "peak of the program's order", &StepOrder::program},
          {"early", kBytes, "peak with updates as soon as they may run", &StepOrder::early},
          {"late", kBytes, "peak of the order late", &StepOrder::late},
          {"peak", kBytes, "of the order that runs", &StepOrder::peak},
          {"lower_bound", kBytes, "no order with forward as written needs less",
           &StepOrder::lower_bound},
          {"proved_optimal", "the peak is this bound", &StepOrder::proved_optimal},
          {"free", kBytes, "the least peak that was found over all orders", &StepOrder::free},
          {"free_lower_bound", kBytes, "no order needs less", &StepOrder::free_lower_bound},
          {"free_proved_optimal", "that peak is this bound", &StepOrder::free_proved_optimal},
          {"placed", kBytes, "peak of the plan", &StepOrder::placed}};
}

std::string StepOrder::text() const {
  return fmt::format(
      "order      {}: {} (program {}, early {},\n"
      "           late {}), placed in {};\n"
      "           with forward as written, {}\n"
      "           with forward in any order: {}\n",
      algorithm, format_bytes(peak), format_bytes(program), format_bytes(early), format_bytes(late),
      format_bytes(placed), bound_text(*this), free_text(*this));
}

OrderOptions step_order_options(bool in_place) {
  return {.in_place = in_place, .alignment = kAlignmentBytes, .state_limit = kMostStates};
}

StepOrder step_order(const OrderedStep& step) {
  const OrderOptions options = step_order_options(step.in_place);
  StepGraph graph = step.program;
  add_resident_edges(graph);
  const Searched free = searched(graph, options);
  keep_forward_sequence(graph);
  const OrderProblem kept = order_problem(graph, options);
  StepOrder found{.algorithm = step.algorithm,
                  .program = program_peak(kept),
                  .early = order_peak(kept, early_sequence(kept)),
                  .late = late_answer(graph, options).peak,
                  .peak = program_peak(order_problem(step.executed, options)),
                  .lower_bound = free.answer.lower_bound,
                  .free = free.answer.peak,
                  .free_lower_bound = free.answer.lower_bound,
                  .explanation = free.explanation};
  found.free = std::min(found.free, found.peak);
  // What bounds all orders bounds those with forward as written.
  if (found.proved_optimal()) return found;
  const Searched best = searched(graph, options);
  found.free = std::min(found.free, best.answer.peak);
  if (best.answer.lower_bound <= found.lower_bound) return found;
  found.lower_bound = best.answer.lower_bound;
  found.explanation = best.explanation;
  return found;
}

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

std::optional<StepStory> model_story(const RecordedStep& step, const Trace& trace,
                                     const TrainOptions& options) {
  const DeviceSpeed speed = assumed_speed(options.memory.device);
  std::vector<double> again = foreseen_seconds(step, speed);
  for (const RecordedRecomputation& recomputation : step.recomputations) {
    again[recomputation.op] *= recomputation.share;
  }
  return step_story(step, trace, options.step.in_place,
                    {.of = std::move(again), .source = speed.text()});
}

}  // namespace skyline
