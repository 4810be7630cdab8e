// Places blocks one by one into holes, in several orders.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/planners/holes/free_space.h"
#include "memory/planners/packing.h"
#include "memory/planners/planner.h"
#include "memory/planners/search.h"

namespace skyline {

// Places blocks one by one, each in the lowest or the smallest hole between those placed before.
// Fixed blocks go first. Blocks share addresses in their gaps. There is no interference graph, and
// one packer serves many passes over the same blocks. O(n²) with a small constant up to
// most_listed() blocks (AddressList), about O(n log² n) beyond (AddressTree).
class HolePacker {
 public:
  // Measured: the size at which the tree becomes faster. A smallest hole needs the whole list.
  static constexpr std::size_t most_listed(HoleChoice choice) {
    return choice == HoleChoice::kSmallest ? 1 << 12 : 1 << 15;
  }

  // Throws TraceError if two fixed blocks overlap.
  explicit HolePacker(const Packing& packing, HoleChoice choice = HoleChoice::kLowest);

  // Later passes give up soon after it.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  // Places the blocks in this order. Returns false, with `out` undefined, as soon as a block would
  // end above `limit`, or soon after the deadline.
  bool pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out);

 private:
  std::uint64_t hole_for(BlockIndex block) const;
  bool place(BlockIndex block, std::uint64_t begin, std::uint64_t limit, Placement& out);
  bool place_fixed(std::uint64_t limit, Placement& out);

  const Packing& packing_;
  const HoleChoice choice_;
  const UsedTicks ticks_;
  std::unique_ptr<UsedAddresses> used_;
  Deadline deadline_;
};

// Returns all blocks by first tick, then by request. O(n).
std::vector<BlockIndex> in_order_of_requests(const Packing& packing);

// Places blocks in that order, each in the smallest hole that fits, the lowest of equals, or on top
// if none fits. ONNX Runtime's memory pattern and ggml plan like this. Uses gaps and keeps fixed
// offsets. Returns false, with `out` undefined, if a block would end above `limit`, or soon after
// the deadline. O(n log n) without gaps and fixed offsets; else see HolePacker.
bool pack_in_order_of_requests(const Packing& packing, const Deadline& deadline,
                               std::uint64_t limit, Placement& out);

// Does the same in one sweep over time that ignores gaps and keeps free blocks above the fixed
// ones. Returns false if a block would end above 2^63 − 1. Throws TraceError if two fixed blocks
// overlap. O(n log n), so it is what a planner without time falls back on.
bool place_by_sweep(const Packing& packing, Placement& out);

Plan program_order(const Trace& trace, const PlanOptions& options);

// Places blocks by descending size, each in the lowest hole that fits (TFLite; Pisarchyk & Lee
// 2020, arXiv:2001.03288). Keeps fixed offsets. For the complexity see HolePacker.
Plan greedy_by_size(const Trace& trace, const PlanOptions& options);

// Places blocks by descending lifetime, each in the smallest hole that fits (the temporal order of
// XLA's heap simulator, GlobalDecreasingSizeBestFitHeap). Keeps fixed offsets.
Plan greedy_by_lifetime(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
