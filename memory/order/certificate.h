#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

struct CheckedGraph;

inline constexpr OpId kNoOp = std::numeric_limits<OpId>::max();

// Bytes of a value that flow from its producer to a reader, or to the end of the step.
struct ValueFlow {
  ValueId value = 0;    // owns bytes: not a view, not resident
  OpId reader = kNoOp;  // kNoOp: to the end, because the value is kept
  std::uint64_t bytes = 0;
  bool operator==(const ValueFlow&) const = default;
};

// Bytes that flow from an op to an op that must have run before it (without limit).
struct NeedFlow {
  OpId op = 0;
  OpId predecessor = 0;
  std::uint64_t bytes = 0;
  bool operator==(const NeedFlow&) const = default;
};

// Proves what an exit needs when it runs, if at most some of its in-place pairs are used. See
// BoundCertificate.
struct BoundCase {
  std::vector<std::uint32_t> pairs;  // positions in StepOp::in_place
  std::vector<ValueFlow> values;
  std::vector<NeedFlow> needs;
  // The ops that ran before, where the least is needed: the side of the source in a minimum cut,
  // ascending. The explanation: whatever these produced for others must be there.
  std::vector<OpId> closed_set;
  std::uint64_t bytes = 0;  // the bound of this case
};

struct BoundExit {
  OpId op = 0;  // kNoOp: the end of the step
  std::vector<BoundCase> cases = {};
  std::uint64_t bytes = 0;  // the least bound of the cases
};

// Proves that no order of a step graph has a peak below `bytes`.
//
// The region is a closed set of ops: it holds the predecessors of its members. The exits are the
// ops outside whose predecessors are all inside. Every order leaves the region with one of its
// exits. When that exit runs, the ops done are a closed set within the region, which holds the
// exit's ancestors (all that must run before it). So the least of what the exits need is a bound. A
// region that lacks only one op and its descendants has one exit, and the bound is one flow.
//
// If the region holds all ops, its exit is the end of the step: an op that all others precede, that
// requests nothing and reads what is kept. The flow from all ops to the end is the kept values,
// which are alive together then.
//
// The mirror image (`from_end`): the region holds the ops that need its members. The exits are the
// ops outside that only members need. In every order one of them is the last op outside the region.
// When that exit runs, the ops done are a closed set that holds all others outside, and neither the
// exit nor an op that needs it. For "the exit's ancestors" read: all others outside; for "the
// region": all ops but the exit and those that need it.
//
// A value is alive if its producer is done and a reader is not, or if it is kept. Take a flow from
// the exit's ancestors to the ops outside the region and to the end: along values from producer to
// readers, at most the value's bytes in all, and along needs from an op to its predecessors,
// without limit; every other op passes on what it receives. No need leads out of the ops done,
// because they are a closed set. The flow leaves them along living values only, and these have at
// least its bytes. On top come the exit's outputs and its workspace.
//
// In-place pairs: output o written over input x costs nothing new if all other readers of x are
// done. In a case with that pair o is not counted, and x may carry its bytes to the exit and its
// bytes once more to its other readers: if one of those is not done, both x and o exist. A case
// holds for every subset of its pairs, too. Its pairs have distinct inputs and distinct outputs, as
// those that one op can use at once. The cases of an exit cover all such sets of pairs.
struct BoundCertificate {
  bool from_end = false;
  std::vector<OpId> region = {};  // ascending
  std::vector<BoundExit> exits = {};
  std::uint64_t bytes = 0;  // the least bound of the exits; 0 if there are none
};

// Returns what is wrong with a certificate, naming the op or the arc; empty if it proves its bound.
std::string fault_of_certificate(const CheckedGraph& graph, const BoundCertificate& certificate);

}  // namespace skyline
