#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/images/bad_images.h"
#include "train/cli/console.h"
#include "train/options/train_options.h"
#include "train/report/report.h"
#include "train/run/memory_summary.h"
#include "train/translation/longest_batches.h"

namespace skyline {

// The same steps under one of several allocators.
struct ComparedRun {
  MemorySummary memory;  // its allocator's name alone when it did not fit
  std::string problem;   // why it did not fit; empty when it did
  bool fits() const noexcept { return problem.empty(); }
  std::vector<double> losses;                                     // one a step made
  std::optional<double> step_seconds_median, allocate_ns_median;  // after the warm-up
  std::uint64_t flushes = 0;  // cached memory given back under pressure
  // Where steps differ in shape: memory over the steps, and the batches' lengths.
  StepsLine steps;
  std::vector<std::uint64_t> live_bytes;
  std::vector<StepsSeries> lengths;
  std::string parameters_sha256;
  std::string state_sha256;  // velocities and running values
};

struct Comparison {
  std::string title;
  Mode mode = Mode::kTraining;
  std::vector<ReportFact> facts;  // what was run, for the page
  std::vector<ComparedRun> runs;  // in the order of the names
  Trace trace;                    // of a step, from a dry run
  Plan plan;
  AllocatorOptions allocator_options;  // of the runs; the limit of bfc is never empty
  std::vector<BadImage> bad_images;    // others took their places
  double clock_ns = 0;                 // one reading of the clock, part of allocate_ns_median

  std::optional<LongestBatchFacts> longest_batch;  // where steps differ in shape

  // Losses, parameters and optimizer state are the same bit for bit in all runs that fitted, and
  // some did.
  bool bit_equal() const;
};

// Runs `steps` training steps, or inference steps, under each allocator, a few of each in turn, so
// that noise of the machine meets all of them. An allocator that runs out of memory stops there and
// gives everything back; the others go on. `options` are resolved.
// Throws what training throws, but OutOfMemory only when no allocator fits.
Comparison compare_allocators(TrainOptions options, const std::vector<std::string>& allocators,
                              std::int64_t steps, Console& console, Mode mode = Mode::kTraining);

nlohmann::ordered_json to_json(const Comparison& comparison);
std::string comparison_text(const Comparison& comparison);
ReportData comparison_report(const Comparison& comparison);

}  // namespace skyline
