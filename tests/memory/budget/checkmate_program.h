#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/budget/op_region.h"

namespace skyline {

struct CheckmateAnswer {
  double extra_seconds = 0;  // infinity if no step fits
  bool proved = false;       // no step within the bytes takes fewer
};

// Solves Checkmate's integer program (Jain et al. 2020, "Checkmate: Breaking the memory wall with
// optimal tensor rematerialization", section 4) with COIN-OR CBC: the reference for small problems.
// Before each op of backward any recomputes may run, in the problem's sequence, each as often as it
// pays; any value may be freed after any op. That is more than a RecomputeChoice can say, so the
// answer lies between BudgetBound and the best choice (but for choices that run the recomputes
// before one op in another sequence). Differs from the paper:
// - A column says that a value is in memory at a moment. It stands for S, FREE and U at once: given
//   what runs, the least such columns are whole. Only recomputes have whole columns.
// - In forward, each op runs once, as here.
// - Workspaces count, and an output may overwrite an input that is not read again.
// - A whole column for each number of rounds of a region says whether one op runs in place of the
//   region's, and recomputes what leaves it. Seconds are then beyond the step that runs whole. The
//   region's ops follow each other, and its inputs are what they read.
// Runs one solve at a time in a process. Stops after a fixed number of nodes.
//
// Throws GraphError beyond 40 ops, or if all sizes together exceed 2^16 units (their greatest
// common divisor).
CheckmateAnswer checkmate_program(const BudgetProblem& problem, std::uint64_t bytes,
                                  const std::vector<OpRegion>& regions = {});

}  // namespace skyline
