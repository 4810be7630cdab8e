#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "framework/ranks/choose_buckets.h"
#include "framework/ranks/rank_place.h"
#include "framework/step_recorder.h"
#include "memory/step_graph.h"

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

// Lets the sums and gathers of a recorded step pass over the link one after another, each from its
// first op on, while the step's ops run. `seconds` are those of each op.
RankStep timed_sums(const StepGraph& graph, std::span<const double> seconds, std::size_t ranks,
                    const RankLink& link);

// Chooses the buckets of gradients that `ranks` ranks sum together over this link; null for one
// rank. `step_with` dry-runs a training step of so many ranks with these buckets, and `seconds_of`
// returns those of its ops.
//
// A gradient is whole when the last op that writes it is done, and choose_buckets() divides. A sum
// needs room for what the other ranks send, so an order of low peak may begin a large one late. So
// where ops wait for sums, divisions into smaller buckets are tried, too: down to a 64th of all
// bytes. The step of least seconds by timed_sums() wins, of ties the one with the largest buckets.
SumBuckets sum_buckets(const std::function<RecordedStep(const SumBuckets&)>& step_with,
                       const std::function<std::vector<double>(const RecordedStep&)>& seconds_of,
                       std::size_t ranks, const RankLink& link);

}  // namespace skyline
