#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/order/certificate.h"
#include "memory/order/order_problem.h"
#include "memory/order/search/order_cut.h"
#include "memory/planners/search_budget.h"

namespace skyline {

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
