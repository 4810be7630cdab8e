#include "memory/planners/holes/free_space.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "memory/errors.h"

namespace skyline {
namespace {

struct FixedUse {
  TickRange ticks;
  BlockIndex block;
};

std::vector<FixedUse> fixed_uses(const Packing& packing, const UsedTicks& ticks) {
  std::vector<FixedUse> uses;
  for (BlockIndex block = 0; block < packing.size(); ++block) {
    if (!packing.is_fixed(block) || packing.bytes[block] == 0) continue;
    for (const TickRange& range : ticks.of(block)) uses.push_back({range, block});
  }
  return uses;
}

}  // namespace

UsedTicks::UsedTicks(const Packing& packing) {
  ranges_.reserve(packing.size() + packing.gaps.size());
  if (!packing.gaps.empty()) first_.reserve(packing.size() + 1);
  auto gap = packing.gaps.begin();
  for (BlockIndex block = 0; block < packing.size(); ++block) {
    if (!packing.gaps.empty()) first_.push_back(static_cast<std::uint32_t>(ranges_.size()));
    std::int32_t lower = packing.lower[block];
    for (; gap != packing.gaps.end() && gap->block == block; ++gap) {
      if (lower < gap->lower) ranges_.push_back({lower, gap->lower});
      lower = gap->upper;
    }
    if (lower < packing.upper[block]) ranges_.push_back({lower, packing.upper[block]});
  }
  if (!packing.gaps.empty()) first_.push_back(static_cast<std::uint32_t>(ranges_.size()));
}

bool UsedTicks::meet(BlockIndex a, BlockIndex b) const {
  for (const TickRange& mine : of(a)) {
    for (const TickRange& other : of(b)) {
      if (mine.meets(other)) return true;
    }
  }
  return false;
}

// The live uses lie apart, so a new one can only overlap its neighbours in address order.
void require_fixed_apart(const Packing& packing, const UsedTicks& ticks) {
  std::vector<FixedUse> by_lower = fixed_uses(packing, ticks), by_upper = by_lower;
  std::ranges::sort(by_lower, {}, [](const FixedUse& use) { return use.ticks.lower; });
  std::ranges::sort(by_upper, {}, [](const FixedUse& use) { return use.ticks.upper; });
  std::map<std::uint64_t, std::uint64_t> live;  // begin → end
  auto dying = by_upper.begin();
  for (const auto& [range, block] : by_lower) {
    for (; dying->ticks.upper <= range.lower; ++dying) live.erase(packing.fixed[dying->block]);
    const std::uint64_t begin = packing.fixed[block], end = begin + packing.bytes[block];
    const auto above = live.lower_bound(begin);
    if ((above != live.end() && above->first < end) ||
        (above != live.begin() && std::prev(above)->second > begin)) {
      throw TraceError({.source = "trace",
                        .field = "offset",
                        .problem = fmt::format("block {} is fixed at {}, where it overlaps "
                                               "another fixed block",
                                               block, begin)});
    }
    live.emplace(begin, end);
  }
}

void AddressList::clear() {
  chunks_.clear();
  in_order_.clear();
}

std::uint64_t AddressList::hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                                std::uint64_t from, HoleChoice choice) const {
  if (choice == HoleChoice::kSmallest) return smallest_hole(ticks, bytes, from);
  return lowest_hole(ticks, bytes, from);
}

std::uint64_t AddressList::lowest_hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                                       std::uint64_t from) const {
  std::uint64_t place = from;
  const auto is_above = [&](std::uint64_t begin) { return begin >= place + bytes; };
  visit_in_the_way(ticks, place, is_above, [&](std::uint64_t begin, std::uint64_t end) {
    if (is_above(begin)) return false;
    place = std::max(place, end);
    return true;
  });
  return place;
}

std::uint64_t AddressList::smallest_hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                                         std::uint64_t from) const {
  std::uint64_t place = from, smallest = from;
  std::uint64_t smallest_bytes = std::numeric_limits<std::uint64_t>::max();
  const auto never = [](std::uint64_t) { return false; };
  visit_in_the_way(ticks, place, never, [&](std::uint64_t begin, std::uint64_t end) {
    if (begin >= place + bytes && begin - place < smallest_bytes) {
      smallest = place;
      smallest_bytes = begin - place;
    }
    place = std::max(place, end);
    return smallest_bytes > bytes;
  });
  return smallest_bytes == std::numeric_limits<std::uint64_t>::max() ? place : smallest;
}

bool AddressList::any_meets(TickRange entry, std::span<const TickRange> ticks) {
  for (const TickRange& range : ticks) {
    if (entry.meets(range)) return true;
  }
  return false;
}

bool AddressList::any_meets(const Chunk& chunk, std::size_t group,
                            std::span<const TickRange> ticks) {
  int meets = 0;  // no branches, so this becomes one vector comparison
  for (const TickRange range : ticks) {
    for (std::size_t i = group; i < group + kGroup; ++i) {
      meets |= static_cast<int>(chunk.lower[i] < range.upper) &
               static_cast<int>(chunk.upper[i] > range.lower);
    }
  }
  return meets != 0;
}

// Visits entries in use at any of the ticks that end above `place`, by ascending begin. Visits may
// raise `place`. Stops when one returns false or all other entries begin where is_above(begin).
template <class IsAbove, class Visit>
void AddressList::visit_in_the_way(std::span<const TickRange> ticks, const std::uint64_t& place,
                                   IsAbove is_above, Visit visit) const {
  for (const std::uint32_t index : in_order_) {
    const Chunk& chunk = chunks_[index];
    if (chunk.highest_end <= place) continue;
    for (std::size_t group = 0; group < chunk.count; group += kGroup) {
      if (is_above(chunk.begin[group])) return;
      if (!any_meets(chunk, group, ticks)) continue;
      for (std::size_t i = group; i < group + kGroup; ++i) {
        const TickRange entry{chunk.lower[i], chunk.upper[i]};
        if (chunk.end[i] <= place || !any_meets(entry, ticks)) continue;
        if (!visit(chunk.begin[i], chunk.end[i])) return;
      }
    }
  }
}

// Returns the position in in_order_ of the chunk for an entry at `begin`; splits it if it is full.
std::size_t AddressList::chunk_for(std::uint64_t begin) {
  if (in_order_.empty()) {
    chunks_.emplace_back().lower.fill(std::numeric_limits<std::int32_t>::max());
    chunks_[0].upper.fill(std::numeric_limits<std::int32_t>::min());
    in_order_.push_back(0);
  }
  const auto above = std::upper_bound(
      in_order_.begin() + 1, in_order_.end(), begin,
      [this](std::uint64_t value, std::uint32_t index) { return value < chunks_[index].begin[0]; });
  const auto position = static_cast<std::size_t>(above - in_order_.begin()) - 1;
  if (chunks_[in_order_[position]].count < kChunkEntries) return position;

  chunks_.push_back(chunks_[in_order_[position]]);
  Chunk& low = chunks_[in_order_[position]];
  Chunk& high = chunks_.back();
  constexpr std::size_t kHalf = kChunkEntries / 2;
  std::move(high.lower.begin() + kHalf, high.lower.end(), high.lower.begin());
  std::move(high.upper.begin() + kHalf, high.upper.end(), high.upper.begin());
  std::move(high.begin.begin() + kHalf, high.begin.end(), high.begin.begin());
  std::move(high.end.begin() + kHalf, high.end.end(), high.end.begin());
  for (Chunk* half : {&low, &high}) {
    std::fill(half->lower.begin() + kHalf, half->lower.end(),
              std::numeric_limits<std::int32_t>::max());
    std::fill(half->upper.begin() + kHalf, half->upper.end(),
              std::numeric_limits<std::int32_t>::min());
    half->count = kHalf;
    half->highest_end = *std::max_element(half->end.begin(), half->end.begin() + kHalf);
  }
  in_order_.insert(above, static_cast<std::uint32_t>(chunks_.size() - 1));
  return position + (begin >= high.begin[0] ? 1 : 0);
}

void AddressList::use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) {
  for (const TickRange& range : ticks) insert(range, begin, end);
}

void AddressList::insert(TickRange ticks, std::uint64_t begin, std::uint64_t end) {
  Chunk& chunk = chunks_[in_order_[chunk_for(begin)]];
  const std::size_t count = chunk.count++;
  const auto first = chunk.begin.begin();
  const auto at = static_cast<std::size_t>(
      std::upper_bound(first, first + static_cast<std::ptrdiff_t>(count), begin) - first);
  const auto put = [&](auto& column, auto value) {
    std::move_backward(column.begin() + at, column.begin() + count, column.begin() + count + 1);
    column[at] = value;
  };
  put(chunk.lower, ticks.lower);
  put(chunk.upper, ticks.upper);
  put(chunk.begin, begin);
  put(chunk.end, end);
  chunk.highest_end = std::max(chunk.highest_end, end);
}

AddressTree::AddressTree(std::int32_t ticks, std::uint64_t smallest_bytes)
    : smallest_bytes_(smallest_bytes),
      leaves_(
          static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(std::max(ticks, 1))))),
      nodes_(2 * static_cast<std::size_t>(leaves_)) {}

void AddressTree::clear() {
  for (Node& node : nodes_) {
    node.throughout.clear();
    node.partly.clear();
    node.solid = 0;
  }
}

void AddressTree::use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) {
  for (const TickRange& range : ticks) use(1, {0, leaves_}, range, {begin, end});
}

// Recurses at most 32 levels deep.
void AddressTree::use(std::size_t node, TickRange of_node, TickRange ticks, Interval interval) {
  if (ticks.lower <= of_node.lower && of_node.upper <= ticks.upper) {
    return add(nodes_[node].throughout, interval);
  }
  add(nodes_[node].partly, interval);
  const std::int32_t middle = of_node.lower + (of_node.upper - of_node.lower) / 2;
  if (ticks.lower < middle) use(2 * node, {of_node.lower, middle}, ticks, interval);
  if (middle < ticks.upper) use(2 * node + 1, {middle, of_node.upper}, ticks, interval);
}

void AddressTree::add(Set& set, Interval interval) {
  const auto first = std::partition_point(
      set.begin(), set.end(),
      [&interval](const Interval& other) { return other.end < interval.begin; });
  if (first == set.end() || interval.end < first->begin) {
    set.insert(first, interval);
    return;
  }
  first->begin = std::min(first->begin, interval.begin);
  if (interval.end <= first->end) return;
  auto last = first + 1;
  while (last != set.end() && last->begin <= interval.end) ++last;
  first->end = std::max((last - 1)->end, interval.end);
  set.erase(first + 1, last);
}

std::uint64_t AddressTree::hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                                std::uint64_t from, HoleChoice choice) const {
  for (const TickRange& range : ticks) from = std::max(from, solid_below(largest_node(range)));
  cursors_.clear();
  for (const TickRange& range : ticks) collect(1, {0, leaves_}, range, from);
  std::uint64_t place = climb(from, bytes);
  if (choice == HoleChoice::kLowest) return place;
  std::uint64_t smallest = place;
  std::uint64_t smallest_bytes = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t end = next_used(); end <= kMaxAddress; end = next_used()) {
    if (end - place < smallest_bytes) {
      smallest = place;
      smallest_bytes = end - place;
      if (smallest_bytes == bytes) break;
    }
    place = climb(end, bytes);
  }
  return smallest_bytes == std::numeric_limits<std::uint64_t>::max() ? place : smallest;
}

// Returns the largest of the nodes that make up a range.
std::size_t AddressTree::largest_node(TickRange ticks) const {
  auto lower = static_cast<std::size_t>(ticks.lower + leaves_);
  auto upper = static_cast<std::size_t>(ticks.upper + leaves_);
  std::size_t largest = lower;
  for (; lower < upper; lower /= 2, upper /= 2) {
    if (lower % 2 == 1) largest = lower++;
    if (upper % 2 == 1) largest = --upper;
  }
  return largest;
}

std::uint64_t AddressTree::solid_below(std::size_t node) const {
  std::uint64_t& solid = nodes_[node].solid;
  cursors_.clear();
  collect(nodes_[node].partly, solid);
  for (std::size_t n = node; n > 0; n /= 2) collect(nodes_[n].throughout, solid);
  return solid = climb(solid, smallest_bytes_);
}

void AddressTree::collect(std::size_t node, TickRange of_node, TickRange ticks,
                          std::uint64_t from) const {
  const Node& here = nodes_[node];
  collect(here.throughout, from);
  if (here.partly.empty()) return;
  if (ticks.lower <= of_node.lower && of_node.upper <= ticks.upper) {
    return collect(here.partly, from);
  }
  const std::int32_t middle = of_node.lower + (of_node.upper - of_node.lower) / 2;
  if (ticks.lower < middle) collect(2 * node, {of_node.lower, middle}, ticks, from);
  if (middle < ticks.upper) collect(2 * node + 1, {middle, of_node.upper}, ticks, from);
}

void AddressTree::collect(const Set& set, std::uint64_t from) const {
  const auto first = std::partition_point(
      set.begin(), set.end(), [from](const Interval& interval) { return interval.end <= from; });
  if (first != set.end()) cursors_.push_back({&*first, set.data() + set.size()});
}

// Returns the lowest address from `place` on with `bytes` free. Each cursor then points to its
// first interval above it.
std::uint64_t AddressTree::climb(std::uint64_t place, std::uint64_t bytes) const {
  std::size_t free_in = 0;  // number of cursors in a row that are free here
  for (std::size_t i = 0; free_in < cursors_.size(); i = i + 1 < cursors_.size() ? i + 1 : 0) {
    Cursor& cursor = cursors_[i];
    const std::uint64_t before = place;
    while (cursor.at != cursor.end && cursor.at->begin < place + bytes) {
      place = std::max(place, cursor.at->end);
      ++cursor.at;
    }
    free_in = place == before ? free_in + 1 : 1;
  }
  return place;
}

// Returns the end of the hole that climb() found; above 2^63 if nothing lies above it.
std::uint64_t AddressTree::next_used() const {
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  for (const Cursor& cursor : cursors_) {
    if (cursor.at != cursor.end) next = std::min(next, cursor.at->begin);
  }
  return next;
}

std::uint64_t FreeRanges::take(std::uint64_t bytes) {
  const auto smallest = sizes_.lower_bound({bytes, 0});
  if (smallest == sizes_.end()) {
    const std::uint64_t begin = top_;
    top_ += bytes;  // both at most 2^63
    return begin;
  }
  const auto hole = holes_.find(smallest->second);
  const auto [begin, end] = *hole;
  remove(hole);
  if (begin + bytes < end) add(begin + bytes, end);
  return begin;
}

void FreeRanges::give(std::uint64_t begin, std::uint64_t bytes) {
  std::uint64_t end = begin + bytes;
  auto above = holes_.lower_bound(begin);
  if (above != holes_.begin()) {
    const auto below = std::prev(above);
    if (below->second == begin) {
      begin = below->first;
      remove(below);
    }
  }
  if (above != holes_.end() && above->first == end) {
    end = above->second;
    remove(above);
  }
  if (end == top_) {
    top_ = begin;
  } else {
    add(begin, end);
  }
}

void FreeRanges::add(std::uint64_t begin, std::uint64_t end) {
  holes_.emplace(begin, end);
  sizes_.emplace(end - begin, begin);
}

void FreeRanges::remove(std::map<std::uint64_t, std::uint64_t>::iterator hole) {
  sizes_.erase({hole->second - hole->first, hole->first});
  holes_.erase(hole);
}

}  // namespace skyline
