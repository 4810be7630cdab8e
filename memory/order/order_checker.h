#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "memory/order/order.h"
#include "memory/step_graph.h"

namespace skyline {

// The verdict of the checker. It trusts the graph (order_problem() refuses unsound ones).
struct OrderVerdict {
  bool valid = false;
  std::uint64_t peak = 0;   // recomputed, without resident bytes
  std::string reason = {};  // empty when valid; else names the op or the arc
};

// Checks without any code of the search that `order` runs every op once, after the ops that it
// needs; computes its peak. O(size of the graph).
OrderVerdict check_sequence(const StepGraph& graph, std::span<const OpId> order,
                            const OrderOptions& options = {});

// Checks a proof of a bound without any code of the search, as its comment argues: the region is
// closed, the exits are all there, their cases cover all sets of in-place pairs, and each flow is
// one: known arcs, capacities, conservation, value. `peak` stays 0. O(size of graph × cases).
OrderVerdict check_certificate(const StepGraph& graph, const BoundCertificate& certificate,
                               const OrderOptions& options = {});

// Checks both, and that the answer claims no more: its peak is the order's, the bound is at most
// the peak and at least what the certificate proves, and it is called optimal only if they meet. A
// bound above the certificate's comes from a search and is not proved here.
OrderVerdict check_order(const StepGraph& graph, const OrderAnswer& answer,
                         const OrderOptions& options = {});

}  // namespace skyline
