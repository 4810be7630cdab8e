#pragma once

#include <functional>
#include <string_view>

#include "memory/planners/packing.h"
#include "memory/planners/search_budget.h"

namespace skyline {

// A pass over so few blocks always ends within milliseconds, so it needs no clock.
inline constexpr std::size_t kFewBlocks = 1 << 12;

// Returns the deadline of a first pass: none if there are few blocks.
Deadline first_deadline(const Packing& packing, const Deadline& deadline);

// One pass of a planner. Returns false, with `out` undefined, soon after the deadline, or if the
// blocks do not fit below 2^63.
using PlannerPass = std::function<bool(const Deadline& deadline, Placement& out)>;

// Returns the placement of planner `name`'s first pass, which gets first_deadline(). If that has
// passed before the pass ends, returns placement_without_pass(). Throws TraceError, naming the
// planner, if no placement lies below 2^63.
Placement first_placement(const Packing& packing, const Deadline& deadline, std::string_view name,
                          const PlannerPass& pass);

// Places the blocks with place_by_sweep(), which takes O(n log n), and marks the placement as out
// of time. Throws TraceError, naming the planner, if the deadline has not passed, so that the pass
// failed for want of addresses, or if this placement ends above 2^63, too.
Placement placement_without_pass(const Packing& packing, const Deadline& deadline,
                                 std::string_view name);

}  // namespace skyline
