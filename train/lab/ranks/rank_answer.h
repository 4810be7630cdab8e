#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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

  nlohmann::ordered_json json() const;
  std::string text() const;  // lines of at most 80 columns
};

// Dry-runs the program on 1, 2, 4, … and `most` ranks, which sum gradients in the buckets that
// `skyline train` chooses for so many.
RankAnswer rank_answer(DryRunOptions program, const StepSeconds& seconds, std::size_t most,
                       const RankLink& link);

}  // namespace skyline
