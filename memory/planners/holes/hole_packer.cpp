#include "memory/planners/holes/hole_packer.h"

#include <algorithm>

#include "memory/planners/holes/address_list.h"
#include "memory/planners/holes/address_tree.h"
#include "memory/planners/holes/fixed_blocks.h"

namespace skyline {
namespace {

std::unique_ptr<UsedAddresses> used_addresses(const Packing& packing, HoleChoice choice) {
  if (packing.size() <= HolePacker::most_listed(choice)) return std::make_unique<AddressList>();
  return std::make_unique<AddressTree>(
      static_cast<std::int32_t>(packing.ticks.size()),
      *std::min_element(packing.bytes.begin(), packing.bytes.end()));
}

}  // namespace

HolePacker::HolePacker(const Packing& packing, HoleChoice choice)
    : packing_(packing), choice_(choice), ticks_(packing), used_(used_addresses(packing, choice)) {
  if (!packing.fixed.empty()) require_fixed_apart(packing, ticks_);
}

bool HolePacker::pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out) {
  used_->clear();
  out.offsets.resize(order.size());
  out.peak = 0;
  if (!packing_.fixed.empty() && !place_fixed(limit, out)) return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % kPlacementsPerClock == 0 && passed(deadline_)) return false;
    const BlockIndex block = order[i];
    if (packing_.is_fixed(block)) continue;
    const std::uint64_t begin = used_->hole(ticks_.of(block), packing_.bytes[block], 0, choice_);
    if (!place(block, begin, limit, out)) return false;
  }
  return true;
}

bool HolePacker::place_fixed(std::uint64_t limit, Placement& out) {
  for (BlockIndex block = 0; block < packing_.size(); ++block) {
    if (!packing_.is_fixed(block)) continue;
    if (block % kPlacementsPerClock == 0 && passed(deadline_)) return false;
    if (!place(block, packing_.fixed[block], limit, out)) return false;
  }
  return true;
}

bool HolePacker::place(BlockIndex block, std::uint64_t begin, std::uint64_t limit, Placement& out) {
  const std::uint64_t end = begin + packing_.bytes[block];  // both below 2^63
  if (end > limit) return false;
  used_->use(ticks_.of(block), begin, end);
  out.offsets[block] = begin;
  out.peak = std::max(out.peak, end);
  return true;
}

}  // namespace skyline
