#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/replay/recorded_run.h"

namespace skyline {

using CategoryBytes = std::array<std::uint64_t, kCategoryCount>;

// Returns the blocks alive at the trace's fullest tick, the first tick with the most bytes alive,
// each rounded to `alignment`. O(n log n).
std::vector<std::size_t> blocks_at_fullest_tick(const Trace& trace, std::uint64_t alignment);

// Returns the rounded bytes of each category at that tick: the parts of the lower bound.
CategoryBytes lower_bound_parts(const Trace& trace, std::uint64_t alignment);

// Returns for each category the most bytes alive at once, resident memory included, each request
// rounded to `alignment`.
CategoryBytes category_peaks(const RecordedRun& run, std::uint64_t alignment);

// Returns for each category the rounded bytes alive when the steps begin.
CategoryBytes resident_parts(const RecordedRun& run, std::uint64_t alignment);

// The memory of a layer or a group of layers, in rounded bytes.
struct LayerBytes {
  std::string layer;                          // "conv2_1.conv1"; for a group "conv2_1"
  std::uint64_t resident_bytes = 0;           // parameters, gradients, optimizer, running values
  std::uint64_t peak_bytes = 0;               // the most that the step holds at once
  std::uint64_t bytes_at_lower_bound = 0;     // of the step, at the trace's fullest tick
  CategoryBytes categories_at_lower_bound{};  // the same, by category
};

enum class Grouping { kLayer, kTopLevel };

// Returns the layers of a run, or its top-level blocks (the part of a layer's name before its first
// dot), in the order of their first request. A resident tensor counts to the layer of its
// parameter. O(n log n).
std::vector<LayerBytes> layer_bytes(const RecordedRun& run, const Trace& step, Grouping grouping,
                                    std::uint64_t alignment);

}  // namespace skyline
