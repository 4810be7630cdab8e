#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/replay/recorded_run.h"

namespace skyline {

using CategoryBytes = std::array<std::uint64_t, kCategoryCount>;

// The blocks of a trace that are alive at its fullest tick, where the most bytes are, each rounded
// to `alignment`; the first such tick. O(n log n).
std::vector<std::size_t> blocks_at_fullest_tick(const Trace& trace, std::uint64_t alignment);

// The rounded bytes of each category at that tick: the parts of the lower bound.
CategoryBytes lower_bound_parts(const Trace& trace, std::uint64_t alignment);

// By category: the most bytes alive at once, resident ones too, each request rounded to
// `alignment`.
CategoryBytes category_peaks(const RecordedRun& run, std::uint64_t alignment);

// The rounded bytes of each category that are alive when the steps begin.
CategoryBytes resident_parts(const RecordedRun& run, std::uint64_t alignment);

// What a layer, or a group of layers, holds; bytes rounded.
struct LayerBytes {
  std::string layer;                          // "conv2_1.conv1"; of a group "conv2_1"
  std::uint64_t resident_bytes = 0;           // parameters, gradients, optimizer, running values
  std::uint64_t peak_bytes = 0;               // the most of the step's at once
  std::uint64_t bytes_at_lower_bound = 0;     // of the step's, at the trace's fullest tick
  CategoryBytes categories_at_lower_bound{};  // the same, by category
};

enum class Grouping { kLayer, kTopLevel };

// Every layer of a run, or every top-level block: the part of a layer's name before its first dot.
// In the order of the first request. A request of a resident tensor counts to the layer whose
// parameter it is. O(n log n).
std::vector<LayerBytes> layer_bytes(const RecordedRun& run, const Trace& step, Grouping grouping,
                                    std::uint64_t alignment);

}  // namespace skyline
