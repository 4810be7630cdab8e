#pragma once

#include <string>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// Draws a plan in characters: `columns` × `rows` cells, ticks to the right, addresses upwards with
// the peak on top, one letter per category, and a legend. A cell shows what fills most of it,
// including free memory; a block in a gap fills nothing.
//
//    1.5 KiB ┤····gggg
//            │aaaagggg
//        0 B ┤iiiiiiii
//            └────────
//             0      8 ticks
//   i input 33 %   a activation 17 %   g gradient 33 %   · free 17 %
//
// The legend shows shares of peak × ticks. `colour` adds ANSI colours. The text ends with a
// newline. Throws std::invalid_argument when columns or rows is below 1, and PlanMismatch when the
// plan does not have one offset for each block. O(blocks + cells that they touch).
std::string plan_map(const Trace& trace, const Plan& plan, int columns, int rows, bool colour);

}  // namespace skyline
