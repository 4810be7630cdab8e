#pragma once

#include <cstdint>
#include <string>

#include "memory/plan.h"

namespace skyline {

// The verdict of the validator.
struct Validity {
  bool valid = false;
  std::uint64_t peak = 0;   // recomputed
  std::string reason = {};  // empty when valid; else names the blocks, ticks and addresses
};

// Checks a plan without any code of a planner or of trace.cpp: every block has an aligned offset,
// fixed offsets are kept, no two blocks in use at the same tick share a byte, and the peak, the
// lower bound and the proofs are as claimed. A proved bound above the lower bound is only checked
// to be at most the peak. O(n log n).
Validity validate(const Trace& trace, const Plan& plan);

}  // namespace skyline
