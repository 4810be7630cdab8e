#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/trace.h"
#include "train/labs/lab.h"

namespace skyline {

// Returns an offset in bytes for each block of the trace.
using PlanWriter = std::function<std::vector<std::uint64_t>(const Trace&)>;

// Scores a planner on 60 hidden traces: valid plans first (the validator checks them), then how far
// the peaks are, on average, above those of the portfolio planner.
LabScore score_planner(const PlanWriter& writer, std::uint64_t seed);

}  // namespace skyline
