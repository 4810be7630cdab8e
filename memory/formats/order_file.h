#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/formats/graph_file.h"
#include "memory/order/order.h"

namespace skyline {

// An order of a graph's ops as a file holds it: JSON, format "skyline-order", version 1. Only
// `order` must be there; the rest is what the writer claims. Claimed bytes include resident ones,
// those of the certificate do not.
// - graph, graph_hash: name and fingerprint of the graph; algorithm
// - peak, lower_bound, resident_bytes, proved_optimal
// - order: ops by their index in the graph, in their new sequence
// - certificate = {bytes, from_end (unset: false), region, exits}; exits[i] = {op or null for the
// end, bytes, cases};
//   cases[j] = {bytes, pairs, values, needs, closed_set} with values a list of [tensor, reader or
//   null for the end, bytes], needs of [op, predecessor, bytes]
struct OrderFile {
  std::string graph_name, graph_hash, algorithm;  // empty: not said
  std::vector<OpId> order;
  std::optional<std::uint64_t> peak, lower_bound;
  std::optional<bool> proved_optimal;
  std::optional<BoundCertificate> certificate;
};

// Reads an order. `source` names it in errors. Throws GraphError for text that is no such JSON.
// Checks nothing against a graph.
OrderFile read_order(std::istream& in, std::string_view source);

// Writes an order of the graph. The certificate's values must be tensors of the file, as in a graph
// that was read.
void write_order(std::ostream& out, const GraphFile& graph, const OrderAnswer& answer);

// Returns 16 hexadecimal digits that differ between graphs, except by chance (FNV-1a): of bytes,
// ops and how they are connected, not of names.
std::string graph_hash(const StepGraph& graph);

// Returns why the file is of another graph, in one sentence; empty if nothing says so.
std::string other_graph_reason(const OrderFile& file, const GraphFile& graph);

}  // namespace skyline
