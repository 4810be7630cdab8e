#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// More than that makes files that viewers open slowly or not at all.
inline constexpr std::size_t kMostPictureBlocks = 100'000;

// A picture of a plan as one self-contained SVG file: ticks to the right, addresses upwards, each
// block one <rect>, or one <path> where it has gaps, with a <title> that viewers show under the
// pointer. Colours are those of categories where the trace has tags, else of sizes. Lines show the
// peak, the lower bound and, where it lies above that, the proved bound. It is light or dark as the
// viewer prefers. `title` names the trace; text that is not UTF-8 is shown with replacement
// characters. Throws PlanMismatch when the plan does not have one offset for each block,
// std::invalid_argument above kMostPictureBlocks. O(n log n).
std::string plan_picture(const Trace& trace, const Plan& plan, std::string_view title);

}  // namespace skyline
