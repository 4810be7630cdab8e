#pragma once

#include <string>
#include <vector>

#include "train/budget/budget_seconds.h"
#include "train/cli/figures.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/ranks/timed_sums.h"

namespace skyline {

// How a step's memory, traffic and time grow with the ranks.
struct RankAnswer {
  RankLink link;
  std::string seconds_source;
  std::vector<RankStep> steps;
  std::vector<RankStep> sharded = {};  // the same with --shard-optimizer

  std::string text() const;  // lines of at most 80 columns
};
Rows<RankAnswer> rows(const RankAnswer*);
Rows<RankStep> rows(const RankStep*);

// Dry-runs the program on 1, 2, 4, … and `most` ranks, which sum gradients in the buckets that
// `skyline train` chooses for so many.
RankAnswer rank_answer(DryRunOptions program, const StepSeconds& seconds, std::size_t most,
                       const RankLink& link);

}  // namespace skyline
