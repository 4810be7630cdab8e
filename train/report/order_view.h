#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// The ops in the sequence in which they run, and the bytes alive during each.
struct OrderCurve {
  std::vector<OpId> order;  // by their number in the program
  std::vector<std::uint64_t> bytes;
};

// Bytes that must be there when an op runs, who wrote them and who still reads them.
struct CutRow {
  std::uint64_t bytes = 0;
  std::string written_by, needed_by;
};

// A step in the program's sequence and in another one, and why no order needs less, as pages show
// it. All bytes include resident_bytes, except those of the cut.
struct OrderView {
  std::string algorithm;           // of the other sequence
  std::vector<std::string> names;  // of the ops, by their number in the program
  std::uint64_t resident_bytes = 0;
  OrderCurve before, after;
  std::uint64_t lower_bound = 0;
  bool forward_as_written = false;  // the bound is only of orders that run forward as written
  bool bound_by_search = false;     // the cut proves a part of the bound, a search the rest
  std::uint64_t least_known = 0;    // the least peak that was found over all orders
  std::string sentence;             // what must be there in any order; empty: unknown
  std::vector<CutRow> cut;          // the values that the sentence speaks of

  std::uint64_t program() const;  // peak of `before`
  std::uint64_t peak() const;     // peak of `after`
};

nlohmann::ordered_json to_json(const OrderView& view);

}  // namespace skyline
