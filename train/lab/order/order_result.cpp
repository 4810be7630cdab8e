#include "train/lab/order/order_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "memory/order/baselines.h"
#include "memory/order/optimal_order.h"
#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::string both(std::uint64_t bytes) {
  return fmt::format("{} ({} bytes)", format_bytes(bytes), bytes);
}

std::string graph_line(const OrderResult& result) {
  const std::string ops =
      fmt::format("{} ops", format_count(static_cast<std::int64_t>(result.answer.order.size())));
  return result.file.name.empty() ? ops : fmt::format("{}, {}", result.file.name, ops);
}

std::string peak_line(const OrderResult& result) {
  const double saving = 100 * result.saving();
  const std::string against = saving == 0  ? "as the program's order"
                              : saving > 0 ? fmt::format("{:.1f} % below the program's", saving)
                                           : fmt::format("{:.1f} % above the program's", -saving);
  return fmt::format("{}, {}", both(result.peak()), against);
}

std::string optimality(const OrderResult& result) {
  if (result.peak() > result.least_peak) {
    return fmt::format("no: an order with peak {} exists, but its plan needs more",
                       format_bytes(result.least_peak));
  }
  if (!result.answer.proved_optimal) {
    return fmt::format(
        "not proved: up to {:.3g} % less is not ruled out",
        100 * (1 - static_cast<double>(result.lower_bound()) / static_cast<double>(result.peak())));
  }
  const bool by_flow = result.explanation && result.explanation->bytes == result.answer.lower_bound;
  return by_flow ? "yes, proved: see below" : "yes, proved: no order has a lower peak";
}

std::string placed_line(const OrderResult& result) {
  const std::string text =
      fmt::format("order {}, placed {}", format_bytes(result.peak()), format_bytes(result.placed));
  if (result.jointly_optimal()) return text + ": no order and no plan needs less";
  if (result.orders_placed == 1) return text;
  return text + fmt::format(": the lowest plan of {} orders", result.orders_placed);
}

std::string time_line(const OrderResult& result) {
  const double seconds = result.answer.seconds;
  const std::string time =
      seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
  if (!result.time_is_up()) return time;
  return time +
         fmt::format(", the limit of {:.6g} s: the best order so far", *result.time_limit_seconds);
}

std::string values_text(const StepGraph& graph, const BoundExplanation& cut) {
  Table table(
      {{"bytes"}, {"", Align::kRight}, {"written by", Align::kLeft}, {"needed by", Align::kLeft}});
  for (const CutRow& row : cut_rows(graph, cut)) {
    table.add_row(
        {std::to_string(row.bytes), format_bytes(row.bytes), row.written_by, row.needed_by});
  }
  return table.str();
}

std::string explanation_text(const OrderResult& result) {
  if (!result.explanation) return {};
  const BoundExplanation& cut = *result.explanation;
  std::string text = fmt::format("\n{}:\n\n{}", bound_sentence(result.file.graph, cut),
                                 values_text(result.file.graph, cut));
  if (cut.bytes < result.answer.lower_bound) {
    text += fmt::format("\nThe search proved the rest: no order peaks below {}.\n",
                        format_bytes(result.lower_bound()));
  }
  return text;
}

Json explanation_json(const OrderResult& result) {
  if (!result.explanation) return nullptr;
  const BoundExplanation& cut = *result.explanation;
  Json values = Json::array();
  for (const NeededValue& value : cut.values) {
    values.push_back({{"tensor", value.value},
                      {"bytes", value.bytes},
                      {"written_by", value.producer},
                      {"needed_by", value.reader == kNoOp ? Json(nullptr) : Json(value.reader)}});
  }
  const bool end = cut.op == kNoOp;
  return {{"op", end ? Json(nullptr) : Json(cut.op)},
          {"name", end ? op_name(result.file.graph, kNoOp) : result.file.graph.ops[cut.op].name},
          {"bytes", cut.bytes},
          {"output_bytes", cut.output_bytes},
          {"workspace_bytes", cut.workspace_bytes},
          {"other_exits", cut.other_exits},
          {"from_end", cut.from_end},
          {"values", std::move(values)}};
}

}  // namespace

double OrderResult::gap() const {
  if (lower_bound() == 0) return 0;
  return static_cast<double>(peak() - lower_bound()) / static_cast<double>(lower_bound());
}

double OrderResult::saving() const {
  if (program == 0) return 0;
  return 1 - static_cast<double>(peak()) / static_cast<double>(program);
}

// Searches may stop slightly early.
bool OrderResult::time_is_up() const {
  constexpr double kNearlyAll = 0.9;
  return time_limit_seconds && !answer.proved_optimal &&
         answer.seconds >= kNearlyAll * *time_limit_seconds;
}

Json OrderResult::json() const {
  const OpId op = answer.order[peak_at];
  return {{"graph", file.name},
          {"ops", answer.order.size()},
          {"resident_bytes", resident_bytes},
          {"program", program},
          {"early", early},
          {"late", late},
          {"peak", peak()},
          {"lower_bound", lower_bound()},
          {"gap", gap()},
          {"proved_optimal", answer.proved_optimal},
          {"placed", placed},
          {"jointly_optimal", jointly_optimal()},
          {"states", answer.states},
          {"flows", answer.flows},
          {"seconds", answer.seconds},
          {"algorithm", answer.algorithm},
          {"time_is_up", time_is_up()},
          {"saving", saving()},
          {"peak_op", {{"op", op}, {"name", file.graph.ops[op].name}, {"place", peak_at}}},
          {"cut", explanation_json(*this)}};
}

std::string OrderResult::text() const {
  Table table({{"order", Align::kLeft}, {"", Align::kLeft}});
  table.add_row({"graph", graph_line(*this)});
  table.add_row({"resident", both(resident_bytes)});
  table.add_row({"program", both(program)});
  table.add_row({"early updates", both(early)});
  table.add_row({"late order", both(late)});
  table.add_row({"lower bound", both(lower_bound())});
  table.add_row({"peak", peak_line(*this)});
  table.add_row({"gap", fmt::format("{:.3g} %", 100 * gap())});
  table.add_row({"optimal", optimality(*this)});
  table.add_row({"with its plan", placed_line(*this)});
  table.add_row(
      {"peaks at", fmt::format("{}, number {} of {}", op_name(file.graph, answer.order[peak_at]),
                               peak_at + 1, answer.order.size())});
  table.add_row({"algorithm", fmt::format("{}; states {}, flows {}", answer.algorithm,
                                          answer.states, answer.flows)});
  table.add_row({"time", time_line(*this)});
  return table.str() + explanation_text(*this);
}

OrderResult answer(OrderRequest request) {
  OrderResult result{.file = std::move(request.file),
                     .time_limit_seconds = request.options.time_limit_seconds};
  const StepGraph& graph = result.file.graph;
  const OrderProblem problem = order_problem(graph, request.options);
  PlacedOrder found =
      order_and_place(graph, request.algorithm, request.options, all_order_algorithms());
  result.answer = std::move(found.order);
  result.resident_bytes = resident_bytes(graph);
  result.placed = result.resident_bytes + found.plan.peak;
  result.least_peak = result.resident_bytes + found.least_peak;
  result.orders_placed = found.orders_placed;
  result.program = result.resident_bytes + order_peak(problem, program_sequence(problem));
  result.early = result.resident_bytes + order_peak(problem, early_sequence(problem));
  result.late = result.resident_bytes + late_answer(graph, request.options).peak;
  const std::vector<std::uint64_t> bytes = order_bytes(problem, result.answer.order);
  result.peak_at = static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
  result.explanation = explain_bound(problem, result.answer.certificate);
  return result;
}

}  // namespace skyline
