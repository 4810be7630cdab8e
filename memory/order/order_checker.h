// Checks orders without any code of the search.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/order/order.h"
#include "memory/step_graph.h"

namespace skyline {

// A step graph as the checkers read it. Written on its own: code shared with order_problem.cpp
// would share its mistakes. Views count as the values that they are views of.
struct CheckedGraph {
  struct Reads {
    OpId op = 0;
    std::size_t times = 0;
  };
  struct Value {
    bool counted = false;  // owns bytes, is written in the step and not resident
    bool kept = false;
    OpId producer = 0;
    std::uint64_t bytes = 0;     // rounded up
    std::vector<Reads> readers;  // by op, ascending
  };

  const StepGraph& graph;
  bool in_place = true;
  std::vector<Value> values;              // by value of the graph
  std::vector<std::vector<OpId>> needs;   // by op: the ops that must run before it
  std::vector<std::uint64_t> workspaces;  // by op: bytes, rounded up

  CheckedGraph(const StepGraph& of, const OrderOptions& options);

  ValueId owner(ValueId value) const { return graph.values[value].storage; }
  std::string name(OpId op) const;  // kNoOp: the end of the step
  // The values that the op requests.
  std::vector<ValueId> outputs(OpId op) const;
  // True if the pair may ever be used: both are counted and of one size, the input is not kept and
  // read once by the op, the output is no view.
  bool can_use(OpId op, const InPlacePair& pair) const;
  ValueId input_of(OpId op, const InPlacePair& pair) const;
  ValueId output_of(OpId op, const InPlacePair& pair) const;
};

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
