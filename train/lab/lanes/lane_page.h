#pragma once

#include <string>

#include "train/lab/lanes/lane_answer.h"

namespace skyline {

// Makes the page of an answer: the plans' bytes against seconds, the lanes over time and, for steps
// of few ops, the graph with the edges that each plan adds. The answer must be that of `graph` and
// `seconds`.
std::string lane_page(const LaneAnswer& answer, const StepGraph& graph,
                      std::span<const double> seconds, const std::string& title);

}  // namespace skyline
