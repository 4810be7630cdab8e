#include "memory/order/baselines/ready_ops.h"

namespace skyline {

ReadyOps::ReadyOps(const OrderProblem& problem)
    : problem_(problem), freed_bytes_(problem.ops.size()), output_bytes_(problem.ops.size()) {
  for (const OrderProblem::Op& op : problem.ops) missing_.push_back(op.predecessors.size());
  for (const OrderProblem::Value& value : problem.values) {
    OpId all = 0;
    for (const OpId reader : value.readers) all ^= reader;
    readers_left_.push_back(static_cast<std::uint32_t>(value.readers.size()));
    readers_xor_.push_back(all);
    output_bytes_[value.producer] += value.bytes;
    if (value.kept || value.readers.size() > 1) continue;
    freed_bytes_[value.readers.empty() ? value.producer : all] += value.bytes;
  }
}

std::vector<OpId> ReadyOps::ready_at_first() const {
  std::vector<OpId> ready;
  for (OpId op = 0; op < problem_.ops.size(); ++op) {
    if (missing_[op] == 0) ready.push_back(op);
  }
  return ready;
}

const ReadyOps::Changes& ReadyOps::run(OpId op) {
  changes_.ready.clear();
  changes_.frees_more.clear();
  for (const std::uint32_t input : problem_.ops[op].inputs) {
    const OrderProblem::Value& value = problem_.values[input];
    readers_xor_[input] ^= op;
    if (--readers_left_[input] != 1 || value.kept) continue;
    freed_bytes_[readers_xor_[input]] += value.bytes;
    changes_.frees_more.push_back(readers_xor_[input]);
  }
  for (const OpId next : problem_.ops[op].successors) {
    if (--missing_[next] == 0) changes_.ready.push_back(next);
  }
  return changes_;
}

}  // namespace skyline
