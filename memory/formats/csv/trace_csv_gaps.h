#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// The gaps of one cell, `LOWER-UPPER` or `LOWER-UPPER@A:B` separated by blanks, of block number
// `index`. `inclusive` says that upper ticks are last ticks. Appends those without a window to
// `out`, ordered by tick. Returns what is wrong, as a sentence; empty when nothing is: each must
// lie in the block's lifetime, its window in the block's bytes, and no two may meet.
std::string read_gaps(std::string_view cell, std::size_t index, const TraceBlock& block,
                      bool inclusive, std::vector<TraceGap>& out);

}  // namespace skyline
