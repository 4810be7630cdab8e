#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "train/experiment.h"

namespace skyline {

// A step to run without memory and without arithmetic.
struct DryRunOptions {
  std::string model = "lenet";
  ModelShape shape;
  std::int64_t batch_size = 32;
  Mode mode = Mode::kTraining;
  bool in_place = true;
  bool guard = false;
};

// What a step would need.
struct DryRunFacts {
  StepGraph graph;
  Trace trace;  // with tags
  std::int64_t parameters = 0;
  std::uint64_t resident_bytes = 0;  // rounded
  // By category: the most bytes at once, as requested.
  std::array<std::uint64_t, kCategoryCount> peak_bytes{};
};

// Runs one step on the simulated device, recording it. Throws ShapeError.
DryRunFacts dry_run(const DryRunOptions& options);

// The bytes alive of each category, rounded to `alignment`, at the tick where most are alive: the
// parts of the lower bound.
std::array<std::uint64_t, kCategoryCount> lower_bound_parts(const Trace& trace,
                                                            std::uint64_t alignment);

}  // namespace skyline
