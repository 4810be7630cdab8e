#include "memory/planners/holes/address_list.h"

#include <algorithm>

namespace skyline {

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

}  // namespace skyline
