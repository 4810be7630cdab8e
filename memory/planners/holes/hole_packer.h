#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/planners/holes/used_addresses.h"
#include "memory/planners/packing.h"
#include "memory/planners/search_budget.h"

namespace skyline {

// Places blocks one by one, each in a hole between those placed before it: the lowest that holds
// it, or the smallest. Fixed blocks are placed first, and blocks share addresses in their gaps.
// There is no interference graph. One packer serves many passes over the same blocks. O(n²) with a
// small constant up to most_listed() blocks, see AddressList; beyond, about O(n log² n), see
// AddressTree.
class HolePacker {
 public:
  // Measured: where list and tree cross. Smallest holes are searched for in the whole list.
  static constexpr std::size_t most_listed(HoleChoice choice) {
    return choice == HoleChoice::kSmallest ? 1 << 12 : 1 << 15;
  }

  explicit HolePacker(const Packing& packing, HoleChoice choice = HoleChoice::kLowest);

  // From then on passes are given up.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  // Places the blocks in this order. Gives up, returning false, as soon as one would end above
  // `limit`, or soon after the deadline; then `out` is of no use. Throws TraceError when two fixed
  // blocks are in each other's way.
  bool pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out);

 private:
  bool place(BlockIndex block, std::uint64_t begin, std::uint64_t limit, Placement& out);
  bool place_fixed(std::uint64_t limit, Placement& out);
  bool is_fixed(BlockIndex block) const {
    return !packing_.fixed.empty() && packing_.fixed[block] != kNotFixed;
  }

  const Packing& packing_;
  const HoleChoice choice_;
  const UsedTicks ticks_;
  std::unique_ptr<UsedAddresses> used_;
  Deadline deadline_;
};

}  // namespace skyline
