#include "memory/planners/holes/hole_packer.h"

#include <algorithm>

namespace skyline {
namespace {

std::unique_ptr<UsedAddresses> used_addresses(const Packing& packing, HoleChoice choice) {
  if (packing.size() <= HolePacker::most_listed(choice)) return std::make_unique<AddressList>();
  std::uint64_t smallest = kMaxAddress;
  for (const std::uint64_t bytes : packing.bytes) {
    if (bytes > 0) smallest = std::min(smallest, bytes);
  }
  return std::make_unique<AddressTree>(static_cast<std::int32_t>(packing.ticks.size()), smallest);
}

// Returns all blocks by a tick of theirs, then by number. Counts, so it is O(n).
std::vector<BlockIndex> in_order_of(const std::vector<std::int32_t>& tick_of, std::size_t ticks) {
  std::vector<BlockIndex> place(ticks + 1, 0);  // where the next block of each tick goes
  for (const std::int32_t tick : tick_of) ++place[static_cast<std::size_t>(tick) + 1];
  for (std::size_t tick = 1; tick < place.size(); ++tick) place[tick] += place[tick - 1];
  std::vector<BlockIndex> order(tick_of.size());
  for (BlockIndex block = 0; block < order.size(); ++block) {
    order[place[static_cast<std::size_t>(tick_of[block])]++] = block;
  }
  return order;
}

// Returns the end of the highest fixed block; 0 if none is fixed.
std::uint64_t highest_fixed_end(const Packing& packing) {
  std::uint64_t highest = 0;
  for (BlockIndex block = 0; block < packing.size(); ++block) {
    if (!packing.is_fixed(block)) continue;
    highest = std::max(highest, packing.fixed[block] + packing.bytes[block]);
  }
  return highest;
}

// True if one sweep gives the same placement as looking at all blocks.
bool is_plain(const Packing& packing) {
  return packing.gaps.empty() && packing.fixed.empty() && packing.alignments.empty();
}

Plan greedy_by(SortKey key, HoleChoice choice, std::string_view name, const Trace& trace,
               const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  Placement placement =
      first_placement(packing, deadline, name, [&](const Deadline& limit, Placement& out) {
        HolePacker packer(packing, choice);
        packer.set_deadline(limit);
        return packer.pack(sorted_by(packing, key), kMaxAddress, out);
      });
  return to_plan(packing, std::move(placement), name, options);
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
    if (!place(block, hole_for(block), limit, out)) return false;
  }
  return true;
}

// An address that is not a multiple of the block's alignment moves up to the next one, if the hole
// is large enough, and else to the next hole.
std::uint64_t HolePacker::hole_for(BlockIndex block) const {
  const std::uint64_t bytes = packing_.bytes[block];
  if (bytes == 0) return 0;
  std::uint64_t begin = used_->hole(ticks_.of(block), bytes, 0, choice_);
  for (std::uint64_t aligned; (aligned = packing_.aligned(begin, block)) != begin;) {
    if (aligned > kMaxAddress) return aligned;
    begin = used_->hole(ticks_.of(block), bytes, aligned, HoleChoice::kLowest);
  }
  return begin;
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
  if (begin > limit || packing_.bytes[block] > limit - begin) return false;
  const std::uint64_t end = begin + packing_.bytes[block];
  if (begin < end) used_->use(ticks_.of(block), begin, end);
  out.offsets[block] = begin;
  out.peak = std::max(out.peak, end);
  return true;
}

std::vector<BlockIndex> in_order_of_requests(const Packing& packing) {
  return in_order_of(packing.lower, packing.ticks.size());
}

bool place_by_sweep(const Packing& packing, Placement& out) {
  if (!packing.fixed.empty()) require_fixed_apart(packing, UsedTicks(packing));
  out.offsets.assign(packing.size(), 0);
  out.peak = highest_fixed_end(packing);
  FreeRanges free(out.peak);
  const std::vector<BlockIndex> by_upper = in_order_of(packing.upper, packing.ticks.size());
  std::vector<std::uint64_t> taken(packing.size());  // the begin of each block's range
  const auto is_placed_here = [&](BlockIndex block) {
    return !packing.is_fixed(block) && packing.bytes[block] > 0;
  };
  // A range that is larger than its block has an aligned address, wherever it begins.
  const auto range_bytes = [&](BlockIndex block) {
    return packing.bytes[block] + (packing.alignments.empty() ? 0 : packing.alignments[block] - 1);
  };
  auto dying = by_upper.begin();
  for (const BlockIndex block : in_order_of_requests(packing)) {
    for (; packing.upper[*dying] <= packing.lower[block]; ++dying) {
      if (is_placed_here(*dying)) free.give(taken[*dying], range_bytes(*dying));
    }
    if (packing.is_fixed(block)) out.offsets[block] = packing.fixed[block];
    if (is_placed_here(block)) {
      if (range_bytes(block) > kMaxAddress) return false;
      taken[block] = free.take(range_bytes(block));
      if (taken[block] > kMaxAddress - range_bytes(block)) return false;
      out.offsets[block] = packing.aligned(taken[block], block);
    }
    out.peak = std::max(out.peak, out.offsets[block] + packing.bytes[block]);
  }
  return true;
}

bool pack_in_order_of_requests(const Packing& packing, const Deadline& deadline,
                               std::uint64_t limit, Placement& out) {
  if (is_plain(packing)) {
    return place_by_sweep(packing, out) && out.peak <= limit;
  }
  HolePacker packer(packing, HoleChoice::kSmallest);
  packer.set_deadline(deadline);
  return packer.pack(in_order_of_requests(packing), limit, out);
}

Plan program_order(const Trace& trace, const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  const Deadline of_pass = is_plain(packing) ? Deadline() : deadline;  // a sweep needs none
  Placement placement = first_placement(
      packing, of_pass, kProgramOrderPlanner, [&](const Deadline& limit, Placement& out) {
        return pack_in_order_of_requests(packing, limit, kMaxAddress, out);
      });
  return to_plan(packing, std::move(placement), kProgramOrderPlanner, options);
}

Plan greedy_by_size(const Trace& trace, const PlanOptions& options) {
  return greedy_by(SortKey::kSize, HoleChoice::kLowest, "greedy-by-size", trace, options);
}

Plan greedy_by_lifetime(const Trace& trace, const PlanOptions& options) {
  return greedy_by(SortKey::kLifetime, HoleChoice::kSmallest, "greedy-by-lifetime", trace, options);
}

}  // namespace skyline
