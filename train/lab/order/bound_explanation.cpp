#include "train/lab/order/bound_explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

constexpr std::size_t kMostRows = 12;  // of the values of a cut

std::vector<char> marked(std::size_t ops, const std::vector<OpId>& members) {
  std::vector<char> set(ops);
  for (const OpId op : members) set[op] = true;
  return set;
}

// The values that ops of a closed set wrote for others, the largest first.
std::vector<NeededValue> living_values(const OrderProblem& problem, const std::vector<char>& done) {
  std::vector<NeededValue> living;
  for (const OrderProblem::Value& value : problem.values) {
    if (!done[value.producer] || value.bytes == 0) continue;
    const auto reader = std::ranges::find_if(value.readers, [&](OpId op) { return done[op] == 0; });
    if (reader == value.readers.end() && !value.kept) continue;
    living.push_back({.value = value.id,
                      .bytes = value.bytes,
                      .producer = value.producer,
                      .reader = reader == value.readers.end() ? kNoOp : *reader});
  }
  std::ranges::stable_sort(living, std::ranges::greater(), &NeededValue::bytes);
  return living;
}

// Bytes of the op's outputs, without those that the case writes in place.
std::uint64_t new_output_bytes(const OrderProblem& problem, OpId op, const BoundCase& bound) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t output : problem.ops[op].outputs) {
    const bool in_place =
        std::ranges::any_of(problem.ops[op].in_place, [&](const OrderProblem::Pair& pair) {
          return pair.output == output &&
                 std::ranges::find(bound.pairs, pair.position) != bound.pairs.end();
        });
    if (!in_place) bytes += problem.values[output].bytes;
  }
  return bytes;
}

std::string value_name(const StepGraph& graph, const NeededValue& value) {
  const std::vector<ValueId>& outputs = graph.ops[value.producer].outputs;
  const auto place = std::ranges::find(outputs, value.value) - outputs.begin();
  const std::string name = op_name(graph, value.producer);
  return outputs.size() == 1 ? name : fmt::format("{}, output {}", name, place);
}

std::string needed_by(const StepGraph& graph, const NeededValue& value, OpId op) {
  if (value.reader == kNoOp) return "kept to the end";
  return value.reader == op ? "this op" : op_name(graph, value.reader);
}

}  // namespace

std::uint64_t BoundExplanation::value_bytes() const {
  std::uint64_t sum = 0;
  for (const NeededValue& value : values) sum += value.bytes;
  return sum;
}

std::optional<BoundExplanation> explain_bound(const OrderProblem& problem,
                                              const BoundCertificate& certificate) {
  if (certificate.exits.empty()) return std::nullopt;
  const BoundExit& exit = *std::ranges::min_element(certificate.exits, {}, &BoundExit::bytes);
  if (exit.cases.empty()) return std::nullopt;
  const BoundCase& bound = *std::ranges::min_element(exit.cases, {}, &BoundCase::bytes);
  BoundExplanation explained{
      .op = exit.op,
      .bytes = exit.bytes,
      .values = living_values(problem, marked(problem.ops.size(), bound.closed_set))};
  if (exit.op == kNoOp) return explained;
  explained.output_bytes = new_output_bytes(problem, exit.op, bound);
  explained.workspace_bytes = problem.ops[exit.op].workspace_bytes;
  for (const BoundExit& other : certificate.exits) {
    if (other.op != exit.op) explained.other_exits.push_back(other.op);
  }
  explained.from_end = certificate.from_end;
  return explained;
}

std::string bound_sentence(const StepGraph& graph, const BoundExplanation& cut) {
  const std::string op = op_name(graph, cut.op);
  std::string needs =
      fmt::format("these {} values ({})", cut.values.size(), format_bytes(cut.value_bytes()));
  if (const std::uint64_t own = cut.output_bytes + cut.workspace_bytes; own > 0) {
    needs += fmt::format(" and {} of its own", format_bytes(own));
  }
  if (cut.op == kNoOp) return fmt::format("At {}, {} must be there in any order", op, needs);
  if (cut.other_exits.empty()) {
    return fmt::format("When {} runs, {} must be there in any order", op, needs);
  }
  const std::string others = cut.other_exits.size() == 1
                                 ? op_name(graph, cut.other_exits[0])
                                 : fmt::format("{} other ops", cut.other_exits.size());
  return fmt::format(
      "In any order, the {} of {} and {} to run needs at least {}: when it is {}, {} must be there",
      cut.from_end ? "last" : "first", op, others, format_bytes(cut.bytes), op, needs);
}

std::vector<CutRow> cut_rows(const StepGraph& graph, const BoundExplanation& cut) {
  std::vector<CutRow> rows;
  std::uint64_t rest = cut.value_bytes();
  const std::size_t values = cut.values.size();
  const std::size_t shown = values <= kMostRows + 1 ? values : kMostRows;  // not one for the rest
  for (std::size_t i = 0; i < shown; ++i) {
    const NeededValue& value = cut.values[i];
    rows.push_back({value.bytes, value_name(graph, value), needed_by(graph, value, cut.op)});
    rest -= value.bytes;
  }
  if (shown < cut.values.size()) {
    rows.push_back(
        {rest, fmt::format("{} smaller values", cut.values.size() - shown), "later ops"});
  }
  if (cut.output_bytes > 0) rows.push_back({cut.output_bytes, "this op: its outputs", "later ops"});
  if (cut.workspace_bytes > 0) {
    rows.push_back({cut.workspace_bytes, "this op: its workspace", "this op"});
  }
  return rows;
}

void explain(OrderView& view, const StepGraph& graph, const BoundExplanation& cut) {
  view.sentence = bound_sentence(graph, cut);
  view.cut = cut_rows(graph, cut);
  view.bound_by_search = view.resident_bytes + cut.bytes < view.lower_bound;
}

}  // namespace skyline
