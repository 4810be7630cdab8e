#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/device.h"
#include "memory/step_graph.h"
#include "memory/trace.h"

namespace skyline {

// Returns an offset in bytes for each block of the trace (see planner.md).
std::vector<std::uint64_t> plan_exercise(const Trace& trace);

// Makes an allocator that takes its memory from `device` (see allocator.md).
std::unique_ptr<Allocator> make_exercise_allocator(Device& device);

// Says whether `op` may write its output pair.output over its input pair.input (see in-place.md).
// reads_left[value] counts the reads of a value that are still to come, those of `op` included.
bool may_overwrite_exercise(const StepGraph& graph, const StepOp& op, const InPlacePair& pair,
                            std::span<const std::int64_t> reads_left);

// Returns the graph's ops in the order in which they shall run (see order.md).
std::vector<OpId> order_exercise(const StepGraph& graph);

}  // namespace skyline
