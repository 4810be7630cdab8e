#pragma once

#include <string>

#include "train/report/plan_explanation.h"

namespace skyline {

// Describes a step in up to three sentences: which line, then which block and why, or which lift
// and what it wastes.
std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedStep& step);

}  // namespace skyline
