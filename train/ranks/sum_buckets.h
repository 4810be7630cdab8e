#pragma once

#include <cstddef>
#include <span>

#include "framework/ranks/rank_link.h"
#include "framework/ranks/rank_place.h"
#include "framework/step_recorder.h"

namespace skyline {

// Chooses the buckets of gradients that `ranks` ranks sum together over this link, see
// choose_buckets(). `step` is a training step of several ranks that sums all gradients in one
// bucket, and `seconds` are those of its ops: a gradient is whole when the last op that writes it
// is done.
SumBuckets sum_buckets(const RecordedStep& step, std::span<const double> seconds, std::size_t ranks,
                       const RankLink& link);

}  // namespace skyline
