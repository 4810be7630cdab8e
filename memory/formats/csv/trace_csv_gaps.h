#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// Reads the gaps in one cell, `LOWER-UPPER` or `LOWER-UPPER@A:B` separated by blanks, for block
// number `index`. If `inclusive`, upper ticks are last ticks. Appends the gaps without a window to
// `out`, ordered by tick. Returns the first fault as a sentence, empty if there is none: a gap must
// lie within the block's lifetime, its window within the block's bytes, and gaps must not overlap.
std::string read_gaps(std::string_view cell, std::size_t index, const TraceBlock& block,
                      bool inclusive, std::vector<TraceGap>& out);

}  // namespace skyline
