#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {

// The largest batch that one allocator can run on a device of a given capacity.
struct LargestBatch {
  std::string allocator;
  std::int64_t batch_size = 0;  // 0: not even one image
  // True if no larger batch fits: every larger size up to the ceiling was tried and refused, or the
  // allocator reuses nothing inside a step, so its memory can only grow with the batch.
  bool proved = true;
};

struct LargestBatches {
  // Largest batch with live bytes (as requested, not rounded) within the capacity, found by
  // bisection because they grow with the batch. No allocator can run a larger one.
  std::int64_t ceiling = 0;
  bool at_limit = false;                 // the search stopped at kMostImages
  std::vector<LargestBatch> allocators;  // in the order of the choices
  std::int64_t sizes_run = 0;
};

inline constexpr std::int64_t kMostImages = 1'000'000;
// Fragmentation may make a pool refuse a batch and accept a larger one. So after the bisection the
// sizes from the answer up to the ceiling are tried: all of them if there are at most kFewSizes,
// otherwise a grid with a spacing of ceiling / kGridSizes.
inline constexpr std::int64_t kFewSizes = 512;
inline constexpr std::int64_t kGridSizes = 128;

// Returns the largest x in [low, high] for which holds(x) is true. Starts at `guess` and doubles
// the stride until the rest of the bracket is small enough to bisect. `low` is assumed to hold.
// holds(result + 1) was tested and is false, unless result == high.
std::int64_t largest_where(std::int64_t low, std::int64_t high, std::int64_t guess,
                           const std::function<bool(std::int64_t)>& holds);

// Replays dry runs of real steps through the allocators on a device of `capacity_bytes`, including
// fragmentation and flushes. Guesses extrapolate memory linearly; each answer is a size that
// fitted, and the next larger size did not. Ignores `options.batch_size` and `options.prefetch`:
// the largest batch has no room for another. Throws ShapeError.
LargestBatches largest_batches(DryRunOptions options, std::uint64_t capacity_bytes,
                               const std::vector<ReplayChoice>& choices);

}  // namespace skyline
