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
  explicit RegionBound(const OrderProblem& problem);

  // Returns the bound of one op alone: what it needs in any order.
  BoundCertificate bound_of(OpId op);

  // Tries to prove that no order has a peak of `level` bytes or less. `reachable` is a closed set
  // of ops that some order runs first within the level. The region begins with it and takes in
  // every exit that needs no more than the level, again and again. If exits remain that all need
  // more, they are the proof; if nothing remains outside, there is none. Gives up after
  // `flow_limit` flows or at the deadline. A larger region never raises what an exit needs, so the
  // sequence of the exits does not matter.
  std::optional<BoundCertificate> prove_above(std::uint64_t level, std::span<const OpId> reachable,
                                              std::uint64_t flow_limit, const Deadline& deadline);

  std::uint64_t flows() const { return flows_; }

 private:
  using Pairs = std::vector<OrderProblem::Pair>;

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
  std::vector<char> region_;  // by op
  std::vector<OpSide> sides_;
  std::vector<OpId> stack_;
  std::uint64_t flows_ = 0;
};

}  // namespace skyline
