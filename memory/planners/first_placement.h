#pragma once

#include <functional>
#include <optional>
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

// Returns what a planner answers if no pass of it ends in time: place_by_sweep(), in O(n log n),
// marked as out of time. Made before the pass, so that it does not come on top of the limit. Empty
// if the limit never passes, or if the placement ends above 2^63.
std::optional<Placement> fallback_placement(const Packing& packing, const Deadline& limit);

// Returns the placement of planner `name`'s first pass, which gets first_deadline(); if that passes
// before the pass ends, fallback_placement(). Throws TraceError, naming the planner, if no
// placement lies below 2^63.
Placement first_placement(const Packing& packing, const Deadline& deadline, std::string_view name,
                          const PlannerPass& pass);

}  // namespace skyline
