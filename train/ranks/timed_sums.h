#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "framework/ranks/choose_buckets.h"
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

}  // namespace skyline
