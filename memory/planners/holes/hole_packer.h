#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/planners/holes/used_addresses.h"
#include "memory/planners/packing.h"
#include "memory/planners/search_budget.h"

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
  bool place(BlockIndex block, std::uint64_t begin, std::uint64_t limit, Placement& out);
  bool place_fixed(std::uint64_t limit, Placement& out);

  const Packing& packing_;
  const HoleChoice choice_;
  const UsedTicks ticks_;
  std::unique_ptr<UsedAddresses> used_;
  Deadline deadline_;
};

}  // namespace skyline
