#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "train/run/model_run.h"
#include "train/state/rank_orders.h"

namespace skyline {

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
