#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "framework/op.h"
#include "framework/ranks/rank_group.h"

namespace skyline {

// Names of the ops below.
inline constexpr std::string_view kBeginRankSum = "begin_rank_sum";
inline constexpr std::string_view kBeginShareSum = "begin_share_sum";  // of this rank's share alone
inline constexpr std::string_view kWaitRankSum = "wait_rank_sum";
inline constexpr std::string_view kBeginRankGather = "begin_rank_gather";
inline constexpr std::string_view kWaitRankGather = "wait_rank_gather";

inline bool begins_rank_sum(std::string_view op) {
  return op == kBeginRankSum || op == kBeginShareSum;
}

// True for all ops that exchange something between ranks.
inline bool is_rank_op(std::string_view op) {
  return begins_rank_sum(op) || op == kWaitRankSum || op == kBeginRankGather ||
         op == kWaitRankGather;
}

// A bucket of tensors, as its ops know it. `group` is null in a dry run. Works that overlap have
// different numbers.
struct RankBucket {
  std::shared_ptr<RankGroup> group;
  RankOf place;
  int number = 0;
  std::size_t tensors = 0;
};

// The sum of a bucket of gradients over the ranks, in two ops, so that it runs beside the ops
// between them. Both count as ops of phase update. On CUDA the cards sum, see CudaRanks.
//
// Begins the sum, one of the works that sum. Inputs: the bucket's gradients, f32 of any shapes.
// Output: `received` f32 [n], the other ranks' values of this rank's share, which belong to the sum
// until the second op has run. The gradients must stay as they are until then.
std::shared_ptr<const Op> begin_rank_sum_op(RankBucket bucket, RankWork work);
// Waits for the sum. Inputs: `received`, then the gradients. Outputs: the gradients, each written
// in place if it may be.
std::shared_ptr<const Op> wait_rank_sum_op(RankBucket bucket);

// Gathers a bucket of parameters of which each rank has updated its share. Inputs and outputs of
// both ops: the parameters, written in place. Between the two ops, nothing may read them.
std::shared_ptr<const Op> begin_rank_gather_op(RankBucket bucket);
std::shared_ptr<const Op> wait_rank_gather_op(RankBucket bucket);

}  // namespace skyline
