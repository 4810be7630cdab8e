#include "train/lab/order/order_result.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/order/baselines.h"
#include "memory/order/control_edges.h"
#include "memory/order/optimal_order.h"
#include "memory/order/order_checker.h"
#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kOrderPage;  // a step in two orders

namespace {

std::optional<OpId> unless_end(OpId op) { return op == kNoOp ? std::nullopt : std::optional(op); }

// Returns what the file claims wrongly, in one sentence; empty if all holds.
std::string fault_of_claims(const OrderCheck& check, const OrderFile& file) {
  const std::uint64_t peak = *check.peak;
  if (file.peak.value_or(peak) != peak) {
    return fmt::format("the file claims peak {}, but it is {}", *file.peak, peak);
  }
  const std::uint64_t least = check.proved.value_or(0);
  if (check.claimed && (*check.claimed < least || *check.claimed > peak)) {
    return fmt::format("the file claims lower bound {}, expected one from {} to {}", *check.claimed,
                       least, peak);
  }
  const bool optimal = check.lower_bound() == peak;
  if (file.proved_optimal.value_or(optimal) != optimal) {
    return fmt::format("the file claims proved_optimal {}, but its peak is {}its lower bound",
                       *file.proved_optimal, optimal ? "" : "not ");
  }
  return {};
}

std::string proof_text(const OrderCheck& check) {
  const std::optional<std::uint64_t> bound = check.lower_bound();
  if (!bound) return "nothing is claimed about other orders";
  const bool by_certificate = check.proved == bound;
  if (bound == check.peak) {
    return by_certificate ? "optimal, proved by the certificate"
                          : "claimed optimal by a search, which was not repeated here";
  }
  return fmt::format("no order is below {}, {}", format_bytes(*bound),
                     by_certificate ? "proved by the certificate"
                                    : "claimed by a search, which was not repeated here");
}

}  // namespace

Rows<NeededValue> rows(const NeededValue*) {
  return {{"tensor", kNumber, "the value's number in the graph", &NeededValue::value},
          {"bytes", kBytes, "of the value", &NeededValue::bytes},
          {"written_by", kNumber, "the op that writes it", &NeededValue::producer},
          {"needed_by", kNumber, "an op that reads it later; null: it is kept to the end",
           [](auto& value) { return unless_end(value.reader); }}};
}

namespace {

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
  return fmt::format("{}, {}", format_bytes_both(result.peak()), against);
}

std::string optimality(const OrderResult& result) {
  if (result.forced && result.peak() > result.forced->least) {
    return "no: updates that are forced early rule out better orders";
  }
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

std::string forced_line(const OrderResult& result) {
  const ForcedUpdates& forced = *result.forced;
  return fmt::format("{} run early, so at least {}; where they need not, {}: they cost {}",
                     forced.updates, format_bytes(forced.lower_bound), format_bytes(forced.least),
                     format_bytes(result.peak() - forced.least));
}

std::string placed_line(const OrderResult& result) {
  const std::string text =
      fmt::format("order {}, placed {}", format_bytes(result.peak()), format_bytes(result.placed));
  if (result.jointly_optimal()) {
    const bool by_program = result.placed > result.lower_bound();
    return text + ": no order and no plan needs less" +
           (by_program ? ", proved by the program" : "");
  }
  if (result.answer.joint) {
    return text + fmt::format(": the program's plan; it proved that none is below {}",
                              format_bytes(result.placed_lower_bound));
  }
  if (result.orders_placed == 1) return text;
  return text + fmt::format(": the lowest plan of {} orders", result.orders_placed);
}

std::string time_line(const OrderResult& result) {
  const double seconds = result.answer.seconds;
  const std::string time = format_seconds(seconds);
  if (!result.time_is_up()) return time;
  return time +
         fmt::format(", the limit of {:.6g} s: the best order so far", *result.time_limit_seconds);
}

std::string values_text(const StepGraph& graph, const BoundExplanation& cut) {
  Table table("bytes |  | <written by | <needed by");
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

// The cut of a bound, with the graph that names its op.
struct OrderCut {
  const BoundExplanation& found;
  const StepGraph& graph;
};

Rows<OrderCut> rows(const OrderCut*) {
  return {{"op", kNumber, "the op that needs the bytes; null: the end of the step",
           [](auto& cut) { return unless_end(cut.found.op); }},
          {"name", "of the op",
           [](auto& cut) {
             return cut.found.op == kNoOp ? op_name(cut.graph, kNoOp)
                                          : cut.graph.ops[cut.found.op].name;
           }},
          {"bytes", kBytes, "of the cut", [](auto& cut) { return cut.found.bytes; }},
          {"output_bytes", kBytes, "new outputs of the op",
           [](auto& cut) { return cut.found.output_bytes; }},
          {"workspace_bytes", kBytes, "workspace of the op",
           [](auto& cut) { return cut.found.workspace_bytes; }},
          {"other_exits", "other ops with the same bound",
           [](auto& cut) { return cut.found.other_exits; }},
          {"from_end", "the last of these ops has the bound, not the first",
           [](auto& cut) { return cut.found.from_end; }},
          {"values", "the values that must be there", [](auto& cut) { return cut.found.values; }}};
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

Rows<OrderResult> rows(const OrderResult*) {
  return {
      {"graph", "the graph's name", [](auto& result) { return result.file.name; }},
      {"ops", kCount, "of the graph", [](auto& result) { return result.answer.order.size(); }},
      {"resident_bytes", kBytes, "that live across steps", &OrderResult::resident_bytes},
      {"program", kBytes, "peak of the program's order; peaks have resident bytes",
       &OrderResult::program},
      {"early", kBytes, "peak with updates as soon as they may run", &OrderResult::early},
      {"late", kBytes, "peak of the order late", &OrderResult::late},
      {"peak", kBytes, "of the order that was found", &OrderResult::peak},
      {"lower_bound", kBytes, "no order needs less", &OrderResult::lower_bound},
      {"gap", kShare, "(peak − lower bound) / lower bound", &OrderResult::gap},
      {"proved_optimal", "the peak is a proved bound",
       [](auto& result) { return result.answer.proved_optimal; }},
      {"placed", kBytes, "peak of the order's plan", &OrderResult::placed},
      {"placed_lower_bound", kBytes, "no order and no plan needs less",
       &OrderResult::placed_lower_bound},
      {"jointly_optimal", "that plan's peak is this bound", &OrderResult::jointly_optimal},
      {"states", kCount, "of the search", [](auto& result) { return result.answer.states; }},
      {"flows", kCount, "of the search", [](auto& result) { return result.answer.flows; }},
      {"seconds", kSeconds, "of the search", [](auto& result) { return result.answer.seconds; }},
      {"algorithm", "what ordered the ops", [](auto& result) { return result.answer.algorithm; }},
      {"time_is_up", "the time limit ended the search", &OrderResult::time_is_up},
      {"saving", kShare, "of the program's peak that is saved", &OrderResult::saving},
      {"peak_op",
       "the op at the peak",
       {{"op", kNumber, "its number",
         [](auto& result) { return result.answer.order[result.peak_at]; }},
        {"name", "its name",
         [](auto& result) {
           return result.file.graph.ops[result.answer.order[result.peak_at]].name;
         }},
        {"place", kNumber, "its place in the order", &OrderResult::peak_at}}},
      {"cut", "the minimum cut behind the bound",
       [](auto& result) {
         return result.explanation ? std::optional(OrderCut{*result.explanation, result.file.graph})
                                   : std::nullopt;
       }},
      {"early_updates", "of --early-updates; null: updates run when they like",
       &OrderResult::forced},
      {"program_resident_set", kBytes, "alive at each op in the program's sequence",
       &OrderResult::program_bytes},
      {"resident_set", kBytes, "alive at each op in the order that was found; OLLA's RS(t)",
       &OrderResult::bytes}};
}

Rows<ForcedUpdates> rows(const ForcedUpdates*) {
  return {{"updates", kCount, "forced to run early", &ForcedUpdates::updates},
          {"lower_bound", kBytes, "no order that runs them early needs less",
           &ForcedUpdates::lower_bound},
          {"without", kBytes, "peak of the best order found that need not run them early",
           &ForcedUpdates::least}};
}

std::string OrderResult::text() const {
  Table table("<order | <");
  table.add_row({"graph", graph_line(*this)});
  table.add_row({"resident", format_bytes_both(resident_bytes)});
  table.add_row({"program", format_bytes_both(program)});
  table.add_row({"early updates", format_bytes_both(early)});
  table.add_row({"late order", format_bytes_both(late)});
  table.add_row({"lower bound", format_bytes_both(lower_bound())});
  table.add_row({"peak", peak_line(*this)});
  table.add_row({"gap", fmt::format("{:.3g} %", 100 * gap())});
  table.add_row({"optimal", optimality(*this)});
  table.add_row({"with its plan", placed_line(*this)});
  if (forced) table.add_row({"forced updates", forced_line(*this)});
  table.add_row(
      {"peaks at", fmt::format("{}, number {} of {}", op_name(file.graph, answer.order[peak_at]),
                               peak_at + 1, answer.order.size())});
  table.add_row({"algorithm", fmt::format("{}; states {}, flows {}", answer.algorithm,
                                          answer.states, answer.flows)});
  table.add_row({"time", time_line(*this)});
  return table.str() + explanation_text(*this);
}

OrderView OrderResult::view() const {
  const StepGraph& graph = file.graph;
  OrderView view{.algorithm = answer.algorithm,
                 .resident_bytes = resident_bytes,
                 .before = {.order = {}, .bytes = program_bytes},
                 .after = {answer.order, bytes},
                 .lower_bound = lower_bound(),
                 .least_known = std::min(least_peak, forced ? forced->least : least_peak)};
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    view.before.order.push_back(op);
    view.names.push_back(graph.ops[op].name);
  }
  if (explanation) explain(view, graph, *explanation);
  return view;
}

namespace {

// Orders the graph with updates forced early. Bound and certificate become those of all orders,
// which hold for the graph as it is.
PlacedOrder with_early_updates(const OrderRequest& request, OrderResult& result) {
  const StepGraph& graph = result.file.graph;
  const OrderAnswer free = order(graph, kDefaultOrder, request.options);
  const ForcedGraph forced = force_early_updates(graph, request.options);
  PlacedOrder found =
      order_and_place(forced.graph, request.algorithm, request.options, all_order_algorithms());
  result.forced = {.updates = forced.updates,
                   .lower_bound = result.resident_bytes + found.order.lower_bound,
                   .least = result.resident_bytes + std::min(free.peak, found.order.peak)};
  for (OpId& op : found.order.order) op = forced.sequence[op];
  found.order.lower_bound = found.lower_bound = free.lower_bound;
  found.order.certificate = free.certificate;
  found.order.proved_optimal = found.order.peak == free.lower_bound;
  return found;
}

}  // namespace

OrderResult answer(OrderRequest request) {
  OrderResult result{.file = std::move(request.file),
                     .time_limit_seconds = request.options.time_limit_seconds};
  const StepGraph& graph = result.file.graph;
  const OrderProblem problem = order_problem(graph, request.options);
  result.resident_bytes = resident_bytes(graph);
  PlacedOrder found =
      request.early_updates
          ? with_early_updates(request, result)
          : order_and_place(graph, request.algorithm, request.options, all_order_algorithms());
  result.answer = std::move(found.order);
  result.plan = std::move(found.plan);
  result.trace = trace_of_order(graph, result.answer.order, request.options);
  result.placed = result.resident_bytes + result.plan.peak;
  result.placed_lower_bound = result.resident_bytes + found.lower_bound;
  result.least_peak = result.resident_bytes + found.least_peak;
  result.orders_placed = found.orders_placed;
  result.early = result.resident_bytes + order_peak(problem, early_sequence(problem));
  result.late = result.resident_bytes + late_answer(graph, request.options).peak;
  result.program_bytes = order_bytes(problem, program_sequence(problem));
  result.bytes = order_bytes(problem, result.answer.order);
  for (auto* bytes : {&result.program_bytes, &result.bytes}) {
    for (std::uint64_t& alive : *bytes) alive += result.resident_bytes;
  }
  result.program = std::ranges::max(result.program_bytes);
  result.peak_at =
      static_cast<std::size_t>(std::ranges::max_element(result.bytes) - result.bytes.begin());
  result.explanation = explain_bound(problem, result.answer.certificate);
  return result;
}

std::string order_page(const OrderResult& result) {
  const std::string& name = result.file.name;
  return render_page(kOrderPage, name.empty() ? "The order of a step" : "The order of " + name,
                     to_json(result.view()).dump());
}

OrderCheck check_order_file(const GraphFile& graph, const OrderFile& file) {
  const std::uint64_t resident = resident_bytes(graph.graph);
  OrderCheck check{.reason = other_graph_reason(file, graph), .ops = graph.graph.ops.size()};
  if (!check.valid()) return check;
  const OrderVerdict sequence = check_sequence(graph.graph, file.order);
  check.reason = sequence.reason;
  if (!check.valid()) return check;
  check.peak = resident + sequence.peak;
  check.claimed = file.lower_bound;
  if (file.certificate) {
    check.reason = check_certificate(graph.graph, *file.certificate).reason;
    if (!check.valid()) return check;
    check.proved = resident + file.certificate->bytes;
  }
  check.reason = fault_of_claims(check, file);
  return check;
}

Rows<OrderCheck> rows(const OrderCheck*) {
  return {{"valid", "whether the order can run and the file's claims hold", &OrderCheck::valid},
          {"reason", "why not", &OrderCheck::reason},
          {"ops", kCount, "of the graph", &OrderCheck::ops},
          {"peak", kBytes, "the most bytes alive, resident ones included", &OrderCheck::peak},
          {"lower_bound", kBytes, "no order needs less, as the file claims",
           [](auto& check) { return check.valid() ? check.lower_bound() : std::nullopt; }},
          {"proved_lower_bound", kBytes, "what the certificate proves",
           [](auto& check) { return check.valid() ? check.proved : std::nullopt; }},
          {"optimal", "the peak is the lower bound",
           [](auto& check) { return check.valid() && check.lower_bound() == check.peak; }},
          {"proved_optimal", "the peak is what the certificate proves",
           [](auto& check) { return check.valid() && check.proved == check.peak; }}};
}

std::string OrderCheck::text() const {
  if (!valid()) return fmt::format("invalid: {}\n", reason);
  return fmt::format("valid: {} ops, peak {} ({} bytes): {}\n", ops, format_bytes(*peak), *peak,
                     proof_text(*this));
}

}  // namespace skyline
