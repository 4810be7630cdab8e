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

// A GPT-2 with biases and without dropout, and its batch.
struct GptNumbers {
  std::int64_t batch = 4;         // B windows
  std::int64_t length = 64;       // T words of each
  std::int64_t words = 50'257;    // V, of the vocabulary
  std::int64_t positions = 1024;  // rows of wpe
  std::int64_t layers = 12;       // L
  std::int64_t heads = 12;        // NH
  std::int64_t units = 768;       // C
};

// Bytes of a training step: two lines that live across steps, then what ops of a kind write in
// forward and backward reads.
struct GptBytes {
  std::int64_t parameters = 0, moments = 0;
  std::int64_t embedding = 0, additions = 0, layer_norm = 0, linear = 0, attention = 0, gelu = 0;
};

// Returns where the bytes go (see bytes.md).
GptBytes bytes_exercise(const GptNumbers& n);

}  // namespace skyline
