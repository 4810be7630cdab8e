#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/order/certificate.h"
#include "memory/order/order_problem.h"
#include "memory/order/search/max_flow.h"

namespace skyline {

// An op must be in the closed set (kBefore), must not (kAfter), or the cut chooses.
enum class OpSide : char { kFree, kBefore, kAfter };

// Finds, among the closed sets that hold all ops marked kBefore and none marked kAfter, one with
// the least live bytes: a minimum cut. Whatever an op kBefore needs must be kBefore, and whatever
// needs an op kAfter must be kAfter; these two are merged into source and sink, and the network
// holds only the free ops that the source reaches.
//
// Node by node: a value with one reader is an arc from its producer to it, with the value's bytes;
// with several readers, a node in between and unlimited arcs to them. A value that is kept or has a
// reader kAfter is an arc to the sink. An unlimited arc leads from each op to its predecessors.
class OrderCut {
 public:
  explicit OrderCut(const OrderProblem& problem);

  // Pairs of op `at`, which is kAfter while its predecessors are kBefore, count as in
  // BoundCertificate: the input's bytes once more if another reader of it is outside the set.
  // Returns the least bytes; stops early, without a set or a flow, once they are at least `enough`.
  std::uint64_t solve(std::span<const OpSide> sides, OpId at = kNoOp,
                      std::span<const OrderProblem::Pair> pairs = {},
                      std::uint64_t enough = MaxFlow::kUnlimited);

  // After solve() to the end: whether the op is in the smallest of the sets with the least live
  // bytes.
  bool in_set(OpId op) const;
  // After solve() to the end: the flow that proves the cut, along values and needs. For a pair, the
  // flow to other readers of the input is the output's.
  void add_flow(BoundCase& into) const;

 private:
  struct Path {  // an arc of the network and what it stands for
    MaxFlow::Arc arc;
    bool need;  // from op `from` to its predecessor `to`; else value `from` to reader `to`
    std::uint32_t from;
    OpId to;
  };

  MaxFlow::Node node_of(OpId op);
  void add_value(MaxFlow::Node producer, std::uint32_t value, OpId except);
  void add_constant(std::uint32_t value, OpId reader);
  void add_op(OpId op);
  // Returns true if the value is kept or a reader is kAfter: that reader, or kNoOp for the end.
  bool ends_after(std::uint32_t value, OpId except, OpId& reader) const;

  const OrderProblem& problem_;
  std::span<const OpSide> sides_;
  OpId at_ = kNoOp;
  MaxFlow flow_;
  std::vector<MaxFlow::Node> node_;  // by op; kNoNode unless it is in the network
  std::vector<OpId> met_;            // free ops in the network
  std::vector<Path> paths_;
  std::vector<ValueFlow> constants_;  // flows that need no network
  std::uint64_t constant_bytes_ = 0;
};

}  // namespace skyline
