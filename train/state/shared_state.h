#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/ranks/rank_group.h"
#include "train/run/model_run.h"

namespace skyline {

// Rank 0 tells the other ranks what to do next.
struct RankOrder {
  enum class Kind : char { kStep, kEvaluation, kState, kEnd };

  Kind kind = Kind::kEnd;
  std::int64_t step = 0;     // counts from 1; of an evaluation: the last one
  double learning_rate = 0;  // of a step
  std::uint64_t plan = 0;    // plan_hash() after the step before
  // Of kState: a piece of a tensor of the optimizer's state, which is divided among the ranks.
  std::size_t tensor = 0;
  std::uint64_t offset = 0, bytes = 0;
  double busy_seconds = 0;  // that this rank computed in the step before
};

// Measures how long this rank computes, without the time in which it waits for others.
class BusySeconds {
 public:
  explicit BusySeconds(const RankGroup& group);
  double so_far() const;

 private:
  double waited() const;

  const RankGroup& group_;
  double began_, waited_before_;
};

// All ranks call it in the same sequence. Returns what each rank gave, rank 0's order first.
std::vector<RankOrder> exchange(RankGroup& group, const RankOrder& own);

// Gives all ranks the running values of rank 0, which alone updates them. All ranks call it.
void share_running_values(ModelRun& run);

// Returns the facts about the current batches of all ranks. All ranks call it.
BatchFacts facts_of_ranks(const ModelRun& run);

// The optimizer's state of a run whose ranks share the updates: as if each of its tensors lay whole
// on rank 0, with the shape of its parameter. Offsets count bytes in the order of memory.
//
// Fills `piece` with what lies at `offset` in tensor `tensor`. Rank 0 calls it while the others
// await its orders; each then calls give_state().
void read_state(ModelRun& run, std::size_t tensor, std::uint64_t offset,
                std::span<std::byte> piece);
void give_state(ModelRun& run, const RankOrder& order);
// Keeps this rank's share of a piece.
void write_state(ModelRun& run, std::size_t tensor, std::uint64_t offset,
                 std::span<const std::byte> piece);

// The parameter of a tensor of the optimizer's state.
const Parameter& parameter_of_state(const ModelRun& run, std::size_t tensor);

}  // namespace skyline
