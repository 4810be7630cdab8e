#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/formats/graph_file.h"
#include "memory/formats/order_file.h"
#include "train/cli/figures.h"

namespace skyline {

// The result of checking an order's file against its graph. Bytes include resident values.
struct OrderCheck {
  std::string reason = {};                    // why the file is refused; empty: valid
  std::size_t ops = 0;                        // of the graph
  std::optional<std::uint64_t> peak = {};     // recomputed; empty if the order cannot run
  std::optional<std::uint64_t> proved = {};   // lower bound that the certificate proves
  std::optional<std::uint64_t> claimed = {};  // lower bound that the file claims

  bool valid() const { return reason.empty(); }
  // The best lower bound that the file has; empty: none.
  std::optional<std::uint64_t> lower_bound() const { return claimed ? claimed : proved; }

  std::string text() const;  // one line
};
Rows<OrderCheck> rows(const OrderCheck*);

// Believes nothing: recomputes the peak and verifies the certificate without any code of the
// search. A claimed bound above the certificate's comes from a search, which is not repeated.
OrderCheck check_order_file(const GraphFile& graph, const OrderFile& file);

}  // namespace skyline
