#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/batch_order.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

// Which part of a training step this process computes, and how it joins the others.
struct StepShares {
  std::size_t micro_batches = 1;  // of this process; one update follows the sum of all gradients
  RankOf place = {};
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
  // Returns which batches of the data this process reads.
  BatchShare of_data() const noexcept { return {.rank = place.rank, .ranks = place.ranks}; }
  // Returns which rank updates; the only one if each updates everything.
  RankOf of_updates() const noexcept { return shard_optimizer ? place : RankOf{}; }
  // Returns a value of each rank, in their order. All ranks call it. In a dry run, each has `own`.
  std::vector<float> from_all_ranks(float own) const;
  // Returns the shares of a dry run, which is of rank 0, so that all ranks foresee the same.
  StepShares in_dry_run() const;
};

// Computes a batch and returns its result as bytes.
using BatchResult = std::function<std::string(std::size_t batch)>;
// Takes the result of a batch. May throw EvaluationStopped.
using BatchTaker = std::function<void(std::size_t batch, const std::string& result)>;

// Calls `compute` for each of `batches` batches and `take` with its result, in their order. The
// ranks of `shares` divide the batches: each computes every so manieth, and takes all results.
// What rank 0 stops, all ranks stop: each throws EvaluationStopped, at once or with the next batch.
void for_each_batch(const StepShares& shares, std::size_t batches, const BatchResult& compute,
                    const BatchTaker& take);

// A value as bytes, and back.
template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <typename T>
T from_bytes(const std::string& bytes) {
  T value;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

}  // namespace skyline
