#pragma once

#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Schedules op by op: of the ready ops that stay below the highest peak so far, the one with the
// least net growth (its outputs less what it frees); if none does, the one with the fewest new
// bytes, then the least net growth. Of ties the first of the program. In-place pairs are ignored.
// O(n log n). Source: PyTorch Inductor's "least peak memory first", its pull requests 134874 and
// 190511.
std::vector<OpId> least_peak_first(const OrderProblem& problem);

}  // namespace skyline
