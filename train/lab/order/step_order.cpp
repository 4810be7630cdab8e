#include "train/lab/order/step_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/alignment.h"
#include "memory/order/baselines.h"
#include "memory/order/control_edges.h"
#include "memory/order/optimal_order.h"
#include "memory/order/order_problem.h"
#include "train/cli/byte_sizes.h"

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

}  // namespace

nlohmann::ordered_json StepOrder::json() const {
  return {{"algorithm", algorithm},
          {"program", program},
          {"early", early},
          {"late", late},
          {"peak", peak},
          {"lower_bound", lower_bound},
          {"proved_optimal", proved_optimal()},
          {"free", free},
          {"free_lower_bound", free_lower_bound},
          {"free_proved_optimal", free_proved_optimal()},
          {"placed", placed}};
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

}  // namespace skyline
