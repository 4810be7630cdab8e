#include "memory/order/search/order_state.h"

#include <bit>

#include "memory/order/certificate.h"
#include "memory/planners/split_mix.h"

namespace skyline {

OpId OpSet::next(OpId from, OpId end) const {
  if (from >= end) return kNoOp;
  std::size_t word = from / kBits;
  std::uint64_t bits = words_[word] & ~std::uint64_t{0} << from % kBits;
  while (bits == 0) {
    if (++word * kBits >= end) return kNoOp;
    bits = words_[word];
  }
  const auto op =
      static_cast<OpId>(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
  return op < end ? op : kNoOp;
}

OrderState::OrderState(const OrderProblem& problem)
    : problem_(problem), walk_(problem), done_(problem.ops.size()), ready_(problem.ops.size()) {
  path_.reserve(problem.ops.size());
  missing_.reserve(problem.ops.size());
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    missing_.push_back(static_cast<std::uint32_t>(problem.ops[op].predecessors.size()));
    if (missing_.back() == 0) ready_.insert(op);
  }
}

void OrderState::run(OpId op) {
  ++runs_;
  walk_.run(op);
  path_.push_back(op);
  ready_.erase(op);
  done_.insert(op);
  hash_ += SplitMix(op).next();
  for (const OpId after : problem_.ops[op].successors) {
    if (--missing_[after] == 0) ready_.insert(after);
  }
}

void OrderState::undo_to(std::size_t size) {
  while (path_.size() > size) {
    const OpId op = path_.back();
    path_.pop_back();
    for (const OpId after : problem_.ops[op].successors) {
      if (missing_[after]++ == 0) ready_.erase(after);
    }
    hash_ -= SplitMix(op).next();
    done_.erase(op);
    ready_.insert(op);
    walk_.undo(op);
  }
}

}  // namespace skyline
