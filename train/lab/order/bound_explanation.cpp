#include "train/lab/order/bound_explanation.h"

#include <algorithm>

namespace skyline {
namespace {

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
      .values = living_values(problem, marked(problem.ops.size(), bound.closed_set)),
      .output_bytes = new_output_bytes(problem, exit.op, bound),
      .workspace_bytes = problem.ops[exit.op].workspace_bytes};
  for (const BoundExit& other : certificate.exits) {
    if (other.op != exit.op) explained.other_exits.push_back(other.op);
  }
  return explained;
}

}  // namespace skyline
