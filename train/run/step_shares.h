#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/ranks/rank_place.h"

namespace skyline {

// Which part of a training step this process computes, and how it joins the others.
struct StepShares {
  std::size_t micro_batches = 1;  // of this process; one update follows the sum of all gradients
  RankPlace place = {};
  std::shared_ptr<RankGroup> group = {};  // null: one process, or a dry run
  SumBuckets buckets = {};
  // Each rank updates its share of each parameter, and keeps that share of the optimizer's state
  // alone (Rajbhandari et al. 2020, "ZeRO", stage 1). Changes no bit of any result.
  bool shard_optimizer = false;
  bool fast_sum = false;  // ranks add in the order that the transport likes

  // Returns the number of batches of a step, over all ranks.
  std::size_t batches() const noexcept { return micro_batches * place.ranks; }
  // Returns the number in the whole step of a batch of this process.
  std::uint64_t number_of(std::size_t batch) const noexcept {
    return batch * place.ranks + place.rank;
  }
  // Returns which rank updates; the only one if each updates everything.
  RankPlace of_updates() const noexcept { return shard_optimizer ? place : RankPlace{}; }
  // Returns a value of each rank, in their order. All ranks call it. In a dry run, each has `own`.
  std::vector<float> from_all_ranks(float own) const;
  // Returns the shares of a dry run, which is of rank 0, so that all ranks foresee the same.
  StepShares in_dry_run() const;
};

}  // namespace skyline
