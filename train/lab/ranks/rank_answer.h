#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/cli/figures.h"
#include "train/decide/rank_sums.h"
#include "train/decide/step_seconds.h"
#include "train/lab/dry_run/model_dry_run.h"

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

// One program on more and more ranks.
struct RankCurve {
  std::string name;  // "each rank keeps all state"; the page shows it beside other curves
  RankAnswer answer;
};

// Makes a page of curves over the ranks: seconds of a step against ideal, the share of the sums'
// seconds that ops hide, and bytes of a rank; and their table. All answers must be for one link.
// Expects at least one curve, and in each the step of one rank first.
std::string rank_page(std::span<const RankCurve> curves, const std::string& title);

}  // namespace skyline
