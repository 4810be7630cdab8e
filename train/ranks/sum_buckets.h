#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "framework/ranks/choose_buckets.h"
#include "framework/ranks/rank_place.h"
#include "framework/step_recorder.h"

namespace skyline {

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
