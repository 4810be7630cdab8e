#pragma once

#include <cstdint>

#include "memory/planners/search_budget.h"

namespace skyline {

// Searches for the lowest peak by deciding capacities (ExactSearch), each part of the packing for
// itself: the lower bound first, then halfway between what is proved impossible and the best
// placement. A capacity is tried with several orders of the blocks, ties broken anew each time, and
// limits that grow from round to round, because each order alone is now and then unlucky.
//
// Improves `best` and raises `proved_bound`: bytes, below which no placement's peak can be. They
// meet when the search is through. With a capacity (budget.only_good_enough) only that is decided.
// Ends after looking at `work` blocks; with a deadline, at the deadline instead. True when `best`
// improved. One thread. Keeps fixed offsets and uses gaps. At most 2^13 blocks in a part: larger
// ones are left as they are.
// Source: Moffitt, MiniMalloc, ASPLOS 2023, for canonical packings and bounds by sections.
bool improve_by_exact(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                      std::uint64_t work, Placement& best, std::uint64_t& proved_bound);

// A simple rule, then the search: within options.time_limit_seconds, or without one for a fixed
// amount of work (about ten seconds).
Plan exact(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
