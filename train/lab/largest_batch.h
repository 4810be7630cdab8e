#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/lab/model_dry_run.h"

namespace skyline {

// The largest batch that one allocator serves on a device of a given capacity.
struct LargestBatch {
  std::string allocator;
  std::int64_t batch_size = 0;  // 0: not even one image
  // No larger one is served: every size up to the ceiling was run and refused; or the allocator
  // reuses nothing inside a step, so that what it needs cannot fall while requests grow.
  bool proved = true;
};

struct LargestBatches {
  // The largest batch whose live bytes fit as they are asked for, found by halving: they grow with
  // the batch. No allocator serves more images.
  std::int64_t ceiling = 0;
  bool at_limit = false;                 // the search ended at kMostImages
  std::vector<LargestBatch> allocators;  // in the order of the choices
  std::int64_t sizes_run = 0;
};

inline constexpr std::int64_t kMostImages = 1'000'000;
// A pool's fragmentation may refuse a batch and serve a larger one. So when the search has ended,
// every size up to the ceiling is run, where they are few, else a grid of so many.
inline constexpr std::int64_t kFewSizes = 512;
inline constexpr std::int64_t kGridSizes = 128;

// Searches over dry runs of real steps, each sent through the allocators on a device of
// `capacity_bytes`, fragmentation and flushes included. Guesses come from how the figures grow with
// the batch; an answer is always a size that was served, and its successor was refused.
// `options.batch_size` is not read. Throws ShapeError.
LargestBatches largest_batches(const DryRunOptions& options, std::uint64_t capacity_bytes,
                               const std::vector<ReplayChoice>& choices);

}  // namespace skyline
