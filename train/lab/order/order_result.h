#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/formats/graph_file.h"
#include "memory/formats/order_file.h"
#include "memory/order/order.h"
#include "memory/trace.h"
#include "train/cli/figures.h"
#include "train/lab/order/bound_explanation.h"

namespace skyline {

// The input of the command `order`.
struct OrderRequest {
  GraphFile file;
  std::string algorithm = std::string(kDefaultOrder);
  OrderOptions options = {};
  bool early_updates = false;  // see force_early_updates()
};

// The figures of an order whose updates are forced early; bytes include resident values.
struct ForcedUpdates {
  std::size_t updates = 0;        // forced
  std::uint64_t lower_bound = 0;  // no order that runs them early needs less
  std::uint64_t least = 0;        // peak of the best order found that need not run them early
};

// The result of `order`. All bytes include resident values, except those of the answer and of the
// explanation.
struct OrderResult {
  GraphFile file;
  OrderAnswer answer;
  std::uint64_t resident_bytes = 0;
  std::uint64_t program = 0, early = 0, late = 0;  // peaks of these three orders
  std::size_t peak_at = 0;                         // the first place with the most bytes
  std::uint64_t placed = 0;                        // peak of its plan
  std::uint64_t least_peak = 0;                    // of an order, whatever its plan needs
  std::size_t orders_placed = 0;
  std::uint64_t placed_lower_bound = 0;  // no order and no plan needs less
  Trace trace = {};                      // the requests of the answer's order
  Plan plan = {};                        // of that trace, without resident values
  // Bytes alive at each op, in the program's sequence and in the answer's.
  std::vector<std::uint64_t> program_bytes = {}, bytes = {};
  std::optional<ForcedUpdates> forced = {};
  std::optional<BoundExplanation> explanation = {};
  std::optional<double> time_limit_seconds = {};

  std::uint64_t peak() const { return resident_bytes + answer.peak; }
  std::uint64_t lower_bound() const { return resident_bytes + answer.lower_bound; }
  // No order has a plan that needs less.
  bool jointly_optimal() const { return placed == placed_lower_bound; }
  // (peak - lower bound) / lower bound; 0 if both are 0.
  double gap() const;
  // Share of the program's peak that the order saves; negative if it peaks higher.
  double saving() const;
  // True if the time limit ended the search; the order is the best one found until then.
  bool time_is_up() const;

  // A table, then the values of the cut.
  std::string text() const;
  // The program's sequence and the answer's, as pages show them.
  OrderView view() const;
};
Rows<OrderResult> rows(const OrderResult*);

// Orders the graph and places it. Throws what order_and_place() throws.
OrderResult answer(OrderRequest request);

// Returns one self-contained HTML page: the bytes alive at each op in both sequences, and the cut.
std::string order_page(const OrderResult& result);

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
