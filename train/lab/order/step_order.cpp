#include "train/lab/order/step_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "memory/alignment.h"
#include "memory/order/baselines/early_updates.h"
#include "memory/order/control_edges.h"
#include "memory/order/order.h"
#include "memory/order/order_walk.h"
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

}  // namespace

nlohmann::ordered_json StepOrder::json() const {
  return {{"algorithm", algorithm},
          {"program", program},
          {"early", early},
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
      "order      {}: {} (program {}, early {}),\n"
      "           placed in {}; with forward as written, {}\n"
      "           with forward in any order: {}\n",
      algorithm, format_bytes(peak), format_bytes(program), format_bytes(early),
      format_bytes(placed), bound_text(*this), free_text(*this));
}

StepOrder step_order(const OrderedStep& step) {
  const OrderOptions options{
      .in_place = step.in_place, .alignment = kAlignmentBytes, .state_limit = kMostStates};
  StepGraph graph = step.program;
  add_resident_edges(graph);
  const OrderAnswer free = order(graph, kDefaultOrder, options);
  keep_forward_sequence(graph);
  const OrderProblem kept = order_problem(graph, options);
  StepOrder found{.algorithm = step.algorithm,
                  .program = program_peak(kept),
                  .early = order_peak(kept, early_sequence(kept)),
                  .peak = program_peak(order_problem(step.executed, options)),
                  .lower_bound = free.lower_bound,
                  .free = free.peak,
                  .free_lower_bound = free.lower_bound};
  found.free = std::min(found.free, found.peak);
  // What bounds all orders bounds those with forward as written.
  if (found.proved_optimal()) return found;
  const OrderAnswer best = order(graph, kDefaultOrder, options);
  found.lower_bound = std::max(found.lower_bound, best.lower_bound);
  found.free = std::min(found.free, best.peak);
  return found;
}

}  // namespace skyline
