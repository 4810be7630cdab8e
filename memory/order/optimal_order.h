#pragma once

#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {

// Ops `begin` to `end` (exclusive).
struct OrderPart {
  OpId begin = 0, end = 0;
};

// Splits a problem where all orders meet: at ops that need all ops before them and that all later
// ops need, as in a chain. Such an op is a part of its own. Every order runs the parts one after
// another, so each can be solved alone. O(ops).
std::vector<OrderPart> order_parts(const OrderProblem& problem);

// Without limits, `optimal` runs at most this many ops in its searches, tentatively or not: a few
// seconds; and a small part of them once the gap is less than a thousandth. Training graphs of
// known networks visit up to 40 sets.
inline constexpr std::uint64_t kDefaultOrderRuns = std::uint64_t{1} << 24;

// Searches for an order of least peak, and proves it.
//
// 1. The program's order and two greedy ones. Where all orders meet (order_parts()), the best
//    stretches of several are joined.
// 2. One minimum cut at the op where the order peaks, or the end of the step: often one of them
//    equals the peak (region_bound.h). If neither does and values are kept, the late orders.
// 3. Otherwise, decides at a level just below the peak (order_search.h): there is no such order, or
//    one is found and the level is halved towards the highest proved bound. What a short search
//    leaves open begins anew from several orders, delayed and advanced (greedy_order.h).
// 4. A certificate for the bound: a region and its exits (region_bound.h), from the start or from
//    the end.
// 5. If a limit ended the search: bounds by regions at halved levels, and the other algorithms'
//    orders, so that none of them has a lower peak.
//
// The problem is not divided at the minimum cut of the op where the order peaks. An order may run
// that op with more bytes alive than in its cut and do better: an op of the cut may have a
// workspace that only fits later. Safe moves (order_search.h) and parts lose nothing.
OrderAnswer optimal_order(const StepGraph& graph, const OrderOptions& options);

// The better of the two greedy orders, with the bound of one flow where it peaks.
OrderAnswer greedy_answer(const StepGraph& graph, const OrderOptions& options);
// The better of the program's order, delayed, and the greedy one from the end; the same bound.
OrderAnswer late_answer(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
