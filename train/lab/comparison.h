#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/cli/console.h"
#include "train/data_results.h"
#include "train/decide/live_parts.h"
#include "train/lab/compared_run.h"
#include "train/options/train_options.h"
#include "train/report/report.h"

namespace skyline {

// What the page shows (facts are the settings of the run; trace, plan, order and story are those of
// the longest step, from a dry run), and the runs. Curves and rows are replayed when it is shown.
struct Comparison : ReportData {
  Mode mode = Mode::kTraining;
  std::int64_t threads = 1, lanes = 1;
  std::vector<ComparedRun> runs;       // in the order of the given names
  AllocatorOptions allocator_options;  // of the runs; bfc always has a limit
  std::vector<BadImage> bad_images;    // skipped images, replaced by others
  double clock_ns = 0;                 // cost of one clock reading, included in allocate_ns_median
  std::optional<LongestBatchFacts> longest_batch;  // if step shapes vary

  // True if at least one run fitted, and losses, parameters and optimizer state are bit-equal in
  // all runs that fitted.
  bool bit_equal() const;
};

// Runs `steps` training or inference steps under each allocator. Allocators take turns of a few
// steps each, so that noise of the machine affects all of them. An allocator that runs out of
// memory stops and frees its memory; the others continue. `options` must be resolved. Throws what
// training throws, and std::runtime_error when no allocator fits.
Comparison compare_allocators(TrainOptions options, const std::vector<std::string>& allocators,
                              std::int64_t steps, Console& console, Mode mode = Mode::kTraining,
                              const LiveParts& live = {});

Rows<Comparison> rows(const Comparison*);
std::string comparison_text(const Comparison& comparison);
ReportData comparison_report(const Comparison& comparison);

}  // namespace skyline
