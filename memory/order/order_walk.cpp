#include "memory/order/order_walk.h"

#include <algorithm>
#include <numeric>

namespace skyline {

OrderWalk::OrderWalk(const OrderProblem& problem) : problem_(problem) {
  readers_left_.reserve(problem.values.size());
  for (const OrderProblem::Value& value : problem.values) {
    readers_left_.push_back(static_cast<std::uint32_t>(value.readers.size()));
  }
}

// Tries the pairs in their sequence, each input and each output once, as execution does.
std::uint64_t OrderWalk::bytes_in_place(OpId op) const {
  const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
  std::uint64_t bytes = 0;
  std::vector<OrderProblem::Pair> used;
  for (const OrderProblem::Pair& pair : pairs) {
    if (readers_left_[pair.input] != 1) continue;
    const bool taken = std::ranges::any_of(used, [&](const OrderProblem::Pair& other) {
      return other.input == pair.input || other.output == pair.output;
    });
    if (taken) continue;
    bytes += problem_.values[pair.output].bytes;
    if (pairs.size() > 1) used.push_back(pair);
  }
  return bytes;
}

std::uint64_t OrderWalk::new_bytes(OpId op) const {
  const OrderProblem::Op& run = problem_.ops[op];
  std::uint64_t bytes = run.workspace_bytes;
  for (const std::uint32_t output : run.outputs) bytes += problem_.values[output].bytes;
  return run.in_place.empty() ? bytes : bytes - bytes_in_place(op);
}

std::int64_t OrderWalk::growth(OpId op) const {
  const OrderProblem::Op& run = problem_.ops[op];
  std::int64_t bytes = 0;
  for (const std::uint32_t output : run.outputs) {
    const OrderProblem::Value& value = problem_.values[output];
    if (value.kept || !value.readers.empty()) bytes += static_cast<std::int64_t>(value.bytes);
  }
  for (const std::uint32_t input : run.inputs) {
    const OrderProblem::Value& value = problem_.values[input];
    if (!value.kept && readers_left_[input] == 1) bytes -= static_cast<std::int64_t>(value.bytes);
  }
  return bytes;
}

void OrderWalk::run(OpId op) {
  live_bytes_ += static_cast<std::uint64_t>(growth(op));  // wraps to the difference
  for (const std::uint32_t input : problem_.ops[op].inputs) --readers_left_[input];
}

void OrderWalk::undo(OpId op) {
  for (const std::uint32_t input : problem_.ops[op].inputs) ++readers_left_[input];
  live_bytes_ -= static_cast<std::uint64_t>(growth(op));
}

std::vector<std::uint64_t> order_bytes(const OrderProblem& problem, std::span<const OpId> order) {
  OrderWalk walk(problem);
  std::vector<std::uint64_t> bytes;
  bytes.reserve(order.size());
  for (const OpId op : order) {
    bytes.push_back(walk.bytes_during(op));
    walk.run(op);
  }
  return bytes;
}

std::uint64_t order_peak(const OrderProblem& problem, std::span<const OpId> order) {
  const std::vector<std::uint64_t> bytes = order_bytes(problem, order);
  return bytes.empty() ? 0 : *std::ranges::max_element(bytes);
}

std::vector<OpId> program_sequence(const OrderProblem& problem) {
  std::vector<OpId> order(problem.ops.size());
  std::iota(order.begin(), order.end(), OpId{0});
  return order;
}

}  // namespace skyline
