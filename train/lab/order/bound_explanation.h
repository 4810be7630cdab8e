#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/order/certificate.h"
#include "memory/order/order_problem.h"

namespace skyline {

// A value that must be there when an op runs, in any order.
struct NeededValue {
  ValueId value = 0;  // in the step graph
  std::uint64_t bytes = 0;
  OpId producer = 0;
  OpId reader = kNoOp;  // the first in the program that cannot have run; kNoOp: the value is kept
};

// The cut of a bound: why no order has a lower peak.
struct BoundExplanation {
  OpId op = 0;              // needs the bytes when it runs
  std::uint64_t bytes = 0;  // without resident values
  // Other ops that may run in its place: every order runs one of them all at a moment when at least
  // these bytes are needed. Empty: the op alone proves the bound.
  std::vector<OpId> other_exits;
  std::vector<NeededValue> values;    // alive before the op runs and after; the largest first
  std::uint64_t output_bytes = 0;     // new when the op runs, without those written in place
  std::uint64_t workspace_bytes = 0;  // of the op

  std::uint64_t value_bytes() const;
};

// Returns the cut of the exit with the least bound; empty without a certificate. The certificate
// must have passed the checker. O(size).
std::optional<BoundExplanation> explain_bound(const OrderProblem& problem,
                                              const BoundCertificate& certificate);

}  // namespace skyline
