#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "memory/order/certificate.h"
#include "memory/plan.h"
#include "memory/step_graph.h"

namespace skyline {

struct OrderOptions {
  bool in_place = true;         // ops overwrite inputs when they may
  std::uint64_t alignment = 1;  // bytes; every size is rounded up to a multiple of it
  // A search stops soon after this many seconds, or states, with the best order so far. Without
  // either: after a fixed amount of work (see optimal_order.h), so that every run gives the same
  // answer.
  std::optional<double> time_limit_seconds = {};
  std::optional<std::uint64_t> state_limit = {};
  // Once it requests a stop, searches except OLLA's end as at a time limit; not owned.
  const std::stop_source* stop = nullptr;
};

// The plan of an algorithm that orders and places at once.
struct JointPlan {
  Plan plan;                      // of the order's trace (see trace_of_order())
  std::uint64_t lower_bound = 0;  // bytes: no order has a plan with a lower peak
  std::uint64_t least_peak = 0;   // bytes: of the best order known, whatever its plan needs
};

// A sequence of a step graph's ops and what is known about it. All bytes are without those of
// resident values.
struct OrderAnswer {
  std::vector<OpId> order;        // order[i] runs as the i-th
  std::uint64_t peak = 0;         // bytes: the most at one op
  std::uint64_t lower_bound = 0;  // bytes: no order has a lower peak
  bool proved_optimal = false;    // the peak is the lower bound
  // Proves certificate.bytes of the bound, without trust in the search. Where that is less than the
  // bound, the rest comes from a search that was exhausted (bound_by_search()).
  BoundCertificate certificate;
  std::uint64_t states = 0;  // visited by the search
  std::uint64_t flows = 0;   // maximum flows computed
  double seconds = 0;
  std::string algorithm;                // e.g. "optimal"
  std::optional<JointPlan> joint = {};  // unset: the algorithm places nothing

  // Returns (peak - lower bound) / lower bound; 0 if both are 0, infinity if only the bound is.
  double gap() const noexcept;
  bool bound_by_search() const noexcept { return lower_bound > certificate.bytes; }
};

// Must be a pure function. Throws GraphError for an unsound graph.
using OrderFunction = OrderAnswer (*)(const StepGraph& graph, const OrderOptions& options);

struct OrderEntry {
  std::string_view name;
  std::string_view summary;  // one line
  OrderFunction function;
};
using OrderTable = std::span<const OrderEntry>;

inline constexpr std::string_view kDefaultOrder = "optimal";

// The algorithms of this library, the default first. all_order_algorithms() adds those that call a
// solver.
OrderTable order_algorithms();

// Runs the algorithm called `algorithm` in `table`, then always the checker, and the validator on a
// joint plan; measures the seconds. Throws std::invalid_argument for an unknown name, GraphError
// for an unsound graph, std::logic_error if a checker rejects the answer.
OrderAnswer order(const StepGraph& graph, std::string_view algorithm = kDefaultOrder,
                  const OrderOptions& options = {}, OrderTable table = order_algorithms());

}  // namespace skyline
