#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Which of two equal ops runs first.
enum class TieRule { kProgramFirst, kProgramLast };

// Runs, among the ready ops that fit under the highest level so far, one whose live bytes grow
// least; if none fits, one that needs the fewest bytes. O(n log n) for n ops, their inputs and
// outputs.
std::vector<OpId> greedy_order(const OrderProblem& problem, TieRule ties);

// The same choice from the end of the step backwards: an op is taken back as soon as that lowers
// the live bytes, and of ties the program's last. O(n log n).
std::vector<OpId> greedy_order_from_end(const OrderProblem& problem);

// Returns an order in which each op is delayed while running it raises the live bytes: from the end
// backwards, an op whose taking back lowers them is taken back at once, and all others in the
// sequence of `order`. The peak does not rise. So a gradient of a weight that is larger than what
// it is made of waits for the end, and the terms of a sum of gradients (tied weights, the steps of
// a recurrent layer, micro-batches) wait for their sum. O(n log n).
//
// With a level below the peak of `order`, an op is taken back at once only if it fits under the
// level, or under what others need anyway: those that need more run earlier. The peak may rise.
std::vector<OpId> delayed(const OrderProblem& problem, const std::vector<OpId>& order);
std::vector<OpId> delayed(const OrderProblem& problem, const std::vector<OpId>& order,
                          std::uint64_t level);

// The mirror image: each op that lowers the live bytes runs at once. O(n log n).
std::vector<OpId> advanced(const OrderProblem& problem, const std::vector<OpId>& order);

}  // namespace skyline
