#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "framework/ranks/rank_link.h"
#include "train/budget/budget_seconds.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {

// A step on so many ranks, as each of them sees it.
struct RankStep {
  std::size_t ranks = 1;
  std::uint64_t peak = 0;            // planned bytes
  std::uint64_t resident_bytes = 0;  // besides
  std::size_t sums = 0;              // of buckets of gradients
  std::uint64_t sent_bytes = 0;
  double sum_seconds = 0;   // of all sums and gathers
  double wait_seconds = 0;  // that ops wait for them
  double seconds = 0;       // of the step

  // The share of the sums' seconds that other ops hide; 1 if there are no sums.
  double hidden() const;
};

// How a step's memory, traffic and time grow with the ranks.
struct RankAnswer {
  RankLink link;
  std::string seconds_source;
  std::vector<RankStep> steps;
  std::vector<RankStep> sharded = {};  // the same with --shard-optimizer

  nlohmann::ordered_json json() const;
  std::string text() const;  // lines of at most 80 columns
};

// Lets the sums of a recorded step pass over the link one after another, each from its first op
// on, while the step's ops run; so do gathers of parameters, which take one pass. `seconds` are
// those of each op; a sum takes `passes`.
RankStep timed_sums(const StepGraph& graph, std::span<const double> seconds, std::size_t ranks,
                    const RankLink& link, int passes = 2);

// Dry-runs the program on 1, 2, 4, … and `most` ranks, which sum gradients in the buckets that
// `skyline train` chooses for so many.
RankAnswer rank_answer(DryRunOptions program, const StepSeconds& seconds, std::size_t most,
                       const RankLink& link);

}  // namespace skyline
