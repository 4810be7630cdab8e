#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "memory/step_graph.h"
#include "train/report/step_story.h"

namespace skyline {

// The sum of a bucket of gradients over the ranks, within a step.
struct BucketSum {
  std::size_t block = 0;  // of the trace: it holds what the other ranks send while the sum runs
  std::size_t gradients = 0;
  std::uint64_t bytes = 0;  // of the gradients
};

// The sums of a run on several ranks, as its report shows them.
struct RankLane {
  std::size_t ranks = 0;
  std::vector<BucketSum> sums;  // of one step, as they begin
  // Of the run as this rank measured it: seconds of all sums, from begin to end, and those that
  // steps waited for. Sums that overlap count one by one.
  double sum_seconds = 0, wait_seconds = 0;
};

// Returns the sums of a step. `story` must be the graph's.
std::vector<BucketSum> bucket_sums(const StepGraph& graph, const StepStory& story);

// Keys: ranks, sums as [block, gradients, bytes], sum_seconds and wait_seconds.
nlohmann::ordered_json to_json(const RankLane& lane);

}  // namespace skyline
