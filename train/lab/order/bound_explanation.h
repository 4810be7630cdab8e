#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/order/certificate.h"
#include "memory/order/order_problem.h"
#include "train/report/step_story.h"

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
  OpId op = 0;              // needs the bytes when it runs; kNoOp: they are alive at the end
  std::uint64_t bytes = 0;  // without resident values
  // Other ops that may run in its place: every order runs one of them all at a moment when at least
  // these bytes are needed. Empty: the op alone proves the bound.
  std::vector<OpId> other_exits;
  bool from_end = false;              // that one is the last of them to run, not the first
  std::vector<NeededValue> values;    // alive before the op runs and after; the largest first
  std::uint64_t output_bytes = 0;     // new when the op runs, without those written in place
  std::uint64_t workspace_bytes = 0;  // of the op

  std::uint64_t value_bytes() const;
};

// Returns the cut of the exit with the least bound; empty without a certificate. The certificate
// must have passed the checker. O(size).
std::optional<BoundExplanation> explain_bound(const OrderProblem& problem,
                                              const BoundCertificate& certificate);

// Says why no order has a lower peak, without a full stop: "When op 41 (conv_dX) runs, these 12
// values (145.6 MiB) and 3 MiB of its own must be there in any order", or "At the end of the step,
// these 12 values (145.6 MiB) must be there in any order".
std::string bound_sentence(const StepGraph& graph, const BoundExplanation& explanation);

// Returns the largest values of the cut, one row for all others, and what the op itself needs. The
// rows have explanation.bytes in all, or more if the op writes in place.
std::vector<CutRow> cut_rows(const StepGraph& graph, const BoundExplanation& explanation);

// Adds the sentence and the rows to a view whose bound is set.
void explain(OrderView& view, const StepGraph& graph, const BoundExplanation& explanation);

}  // namespace skyline
