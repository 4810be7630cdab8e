#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "memory/step_graph.h"
#include "train/labs/lab.h"

namespace skyline {

// Says whether `op` may write its output pair.output over its input pair.input.
// reads_left[value] counts the reads of a value that are still to come, those of `op` included.
using OverwriteRule =
    std::function<bool(const StepGraph& graph, const StepOp& op, const InPlacePair& pair,
                       std::span<const std::int64_t> reads_left)>;

// Scores a rule on 200 hidden step graphs. Each step is run with numbers in place of tensors: every
// value that an op reads, and every resident or kept value at the end, must be what the same step
// computes without overwriting. Then the peaks are compared with simulate().
LabScore score_in_place(const OverwriteRule& rule, std::uint64_t seed);

}  // namespace skyline
