#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// A choice and what its step takes in the program's sequence.
struct BudgetPoint {
  RemakeChoice choice;
  std::uint64_t peak = 0;    // bytes, without resident values
  double extra_seconds = 0;  // of its remakes
};

// Returns choices of which each takes fewer bytes and more seconds than the one before, from the
// step that makes nothing again to the fewest bytes that were found.
//
// Lowers the peak again and again. A move frees a value that the op at the peak does not touch: of
// those that lower the bytes there, the one with the fewest seconds a byte. Values that backward
// would not keep anyway are made again along with it. A move may also keep a value again, so that
// fewer remade values are alive at once. Begins with nothing to remake, then with all remakes up to
// a price, and with all but every n-th, which cuts chains into parts. At last each choice gives up
// the remakes that its peak does not need, the dearest first.
//
// Deterministic: stops after a fixed amount of work, within a second.
std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem);

// Returns the first point of a curve whose peak is at most `bytes`; null if none is. More bytes
// never cost more seconds.
const BudgetPoint* point_within(const std::vector<BudgetPoint>& curve, std::uint64_t bytes);

}  // namespace skyline
