#include "memory/order/search/order_cut.h"

#include <limits>

namespace skyline {
namespace {

constexpr MaxFlow::Node kSource = 0, kSink = 1;
constexpr MaxFlow::Node kNoNode = std::numeric_limits<MaxFlow::Node>::max();

}  // namespace

OrderCut::OrderCut(const OrderProblem& problem)
    : problem_(problem), node_(problem.ops.size(), kNoNode) {}

MaxFlow::Node OrderCut::node_of(OpId op) {
  if (node_[op] == kNoNode) {
    node_[op] = flow_.add_node();
    met_.push_back(op);
  }
  return node_[op];
}

bool OrderCut::ends_after(std::uint32_t value, OpId except, OpId& reader) const {
  reader = kNoOp;
  for (const OpId op : problem_.values[value].readers) {
    if (op == except || sides_[op] != OpSide::kAfter) continue;
    reader = op;
    if (op == at_) break;
  }
  return reader != kNoOp || problem_.values[value].kept;
}

// The value's producer is kBefore and a reader kAfter: the bytes are there in any case.
void OrderCut::add_constant(std::uint32_t value, OpId reader) {
  const std::uint64_t bytes = problem_.values[value].bytes;
  if (bytes == 0) return;
  constant_bytes_ += bytes;
  constants_.push_back({problem_.values[value].id, reader, bytes});
}

// `except` is a reader that does not count.
void OrderCut::add_value(MaxFlow::Node producer, std::uint32_t value, OpId except) {
  const OrderProblem::Value& added = problem_.values[value];
  if (added.bytes == 0) return;
  OpId last = kNoOp;
  if (ends_after(value, except, last)) {
    if (producer == kSource) return add_constant(value, last);
    paths_.push_back({flow_.add_arc(producer, kSink, added.bytes), false, value, last});
    return;
  }
  std::size_t free = 0;
  for (const OpId reader : added.readers) {
    if (reader == except || sides_[reader] != OpSide::kFree) continue;
    ++free;
    last = reader;
  }
  if (free == 0) return;
  if (free == 1) {
    paths_.push_back({flow_.add_arc(producer, node_of(last), added.bytes), false, value, last});
    return;
  }
  const MaxFlow::Node between = flow_.add_node();
  flow_.add_arc(producer, between, added.bytes);
  for (const OpId reader : added.readers) {
    if (reader == except || sides_[reader] != OpSide::kFree) continue;
    paths_.push_back(
        {flow_.add_arc(between, node_of(reader), MaxFlow::kUnlimited), false, value, reader});
  }
}

void OrderCut::add_op(OpId op) {
  const MaxFlow::Node node = node_[op];
  for (const OpId before : problem_.ops[op].predecessors) {
    if (sides_[before] != OpSide::kFree) continue;
    paths_.push_back({flow_.add_arc(node, node_of(before), MaxFlow::kUnlimited), true, op, before});
  }
  for (const std::uint32_t output : problem_.ops[op].outputs) add_value(node, output, kNoOp);
}

std::uint64_t OrderCut::solve(std::span<const OpSide> sides, OpId at,
                              std::span<const OrderProblem::Pair> pairs, std::uint64_t enough) {
  sides_ = sides;
  at_ = at;
  for (const OpId op : met_) node_[op] = kNoNode;
  met_.clear();
  paths_.clear();
  constants_.clear();
  constant_bytes_ = 0;
  flow_.reset(2);
  for (std::uint32_t value = 0; value < problem_.values.size(); ++value) {
    if (sides[problem_.values[value].producer] == OpSide::kBefore) {
      add_value(kSource, value, kNoOp);
    }
  }
  for (const OrderProblem::Pair& pair : pairs) {
    add_value(kSource, pair.input, at);
  }
  if (constant_bytes_ >= enough) return constant_bytes_;
  for (std::size_t i = 0; i < met_.size(); ++i) add_op(met_[i]);
  return constant_bytes_ + flow_.run(kSource, kSink, enough - constant_bytes_);
}

bool OrderCut::in_set(OpId op) const {
  return sides_[op] == OpSide::kBefore ||
         (sides_[op] == OpSide::kFree && node_[op] != kNoNode && flow_.on_source_side(node_[op]));
}

void OrderCut::add_flow(BoundCase& into) const {
  into.values.insert(into.values.end(), constants_.begin(), constants_.end());
  for (const Path& path : paths_) {
    const std::uint64_t bytes = flow_.flow(path.arc);
    if (bytes == 0) continue;
    if (path.need) {
      into.needs.push_back({path.from, path.to, bytes});
    } else {
      into.values.push_back({problem_.values[path.from].id, path.to, bytes});
    }
  }
}

}  // namespace skyline
