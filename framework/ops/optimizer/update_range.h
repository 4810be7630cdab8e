#pragma once

#include <cstdint>
#include <vector>

namespace skyline {

// The elements of a parameter and its gradient that an UpdateOp updates. The parts of its state
// begin with the first of them.
struct UpdateRange {
  std::int64_t first = 0, count = 0;
};

}  // namespace skyline
