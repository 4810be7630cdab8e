// Bounds of all orders by minimum cuts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/order/certificate.h"
#include "memory/order/order_problem.h"
#include "memory/order/search/max_flow.h"
#include "memory/planners/search.h"

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

// Proves bounds with minimum cuts; see BoundCertificate.
class RegionBound {
 public:
  enum class Side { kStart, kEnd };  // where a region begins to grow

  explicit RegionBound(const OrderProblem& problem);

  // Returns the bound of one op alone: what it needs in any order.
  BoundCertificate bound_of(OpId op);
  // Returns the bound of the end of the step: the values kept are there together in any order.
  BoundCertificate bound_of_end() const;
  // Returns the greater of the two, for the op at which an order peaks.
  BoundCertificate bound_of_peak(OpId op);

  // Tries to prove that no order has a peak of `level` bytes or less. `reachable` are ops that some
  // order runs first (from the end: last) within the level. The region begins with them and takes
  // in every exit that needs no more than the level, again and again. If exits remain that all need
  // more, they are the proof; if nothing remains outside but the end, that is the last exit. Gives
  // up after `flow_limit` flows or at the deadline. A larger region never raises what an exit
  // needs, so the sequence of the exits does not matter.
  std::optional<BoundCertificate> prove_above(std::uint64_t level, Side side,
                                              std::span<const OpId> reachable,
                                              std::uint64_t flow_limit, const Deadline& deadline);

  std::uint64_t flows() const { return flows_; }

 private:
  using Pairs = std::vector<OrderProblem::Pair>;

  const std::vector<OpId>& inwards(OpId op) const;
  void mark_sides(OpId exit);
  std::uint64_t own_bytes(OpId exit, const Pairs& pairs) const;
  std::uint64_t live_bytes(OpId exit, const Pairs& pairs,
                           std::uint64_t enough = MaxFlow::kUnlimited);
  bool needs_more(OpId exit, std::uint64_t level);
  BoundExit proof_of(OpId exit);
  BoundCertificate certificate_of(std::span<const OpId> exits);
  std::vector<OpId> exits() const;

  const OrderProblem& problem_;
  OrderCut cut_;
  Side side_ = Side::kStart;
  std::vector<char> region_;  // by op
  std::vector<OpSide> sides_;
  std::vector<OpId> stack_;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t flows_ = 0;
};

}  // namespace skyline
