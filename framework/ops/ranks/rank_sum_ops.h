#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "framework/op.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

// Names of the ops below.
inline constexpr std::string_view kBeginRankSum = "begin_rank_sum";
inline constexpr std::string_view kWaitRankSum = "wait_rank_sum";

// The sum of a bucket of gradients over the ranks, in two ops, so that it runs beside the ops
// between them. Both count as ops of phase update on the CPU. `group` is null in a dry run.
//
// Begins the sum. Inputs: the bucket's gradients, f32 of any shapes. Output: `received` f32 [n],
// the other ranks' values of this rank's share, which belong to the sum until the second op has
// run. The gradients must stay as they are until then.
std::shared_ptr<const Op> begin_rank_sum_op(std::shared_ptr<RankGroup> group, RankPlace place,
                                            int bucket);
// Waits for the sum. Inputs: `received`, then the gradients. Outputs: the gradients, each written
// in place.
std::shared_ptr<const Op> wait_rank_sum_op(std::shared_ptr<RankGroup> group, int bucket);

}  // namespace skyline
