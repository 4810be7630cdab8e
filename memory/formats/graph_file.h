#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "memory/step_graph.h"

namespace skyline {

// A step graph as a file holds it: JSON, format "skyline-graph", version 1, with the keys name,
// resident_bytes, tensors and ops.
// - tensors[k] = {bytes, keep?}
// - ops[i] = {name, layer?, inputs, outputs, workspace?, after?, in_place?, rounds?}, in program
//   order; inputs and outputs are indices of tensors, after (ops that must run before) of ops,
//   in_place a list of [position in inputs, position in outputs];
// - rounds = {slices, calls} of a chain in rounds: slices[k] = [offset, bytes] in the workspace,
//   calls[i] = {name, layer?, slices}.
// Other keys are ignored, but no object may have a key twice.
struct GraphFile {
  std::string name;
  // Value k is tensor k. After them comes a resident value without readers that has resident_bytes,
  // unless they are 0.
  StepGraph graph;
};

// Reads a graph. `source` names it in errors. Throws GraphError, which names the op, for text that
// is no such JSON, a graph without ops, and whatever order_problem() refuses. O(size); holds the
// parsed JSON as a whole: a chain of a million ops, 104 MB of text, took 1.2 GiB at the peak and
// 4.2 s of one core.
GraphFile read_graph(std::istream& in, std::string_view source);

// Writes a graph, one tensor or op a line, so that its orders have the same peaks when it is read
// back. Resident values become a sum and views the values whose bytes they share, so that values of
// the graph and tensors of the file differ; ops keep their numbers. The control edges are those
// that tensors do not imply. Throws GraphError for an unsound graph, before it writes.
void write_graph(std::ostream& out, const StepGraph& graph, std::string_view name = {});

// Returns the bytes of all resident values.
std::uint64_t resident_bytes(const StepGraph& graph);

}  // namespace skyline
