#include "memory/planners/gap_packer.h"

#include <algorithm>

namespace skyline {

bool GapPacker::pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out) {
  chunks_.clear();
  in_order_.clear();
  out.offsets.resize(order.size());
  out.peak = 0;
  for (const BlockIndex block : order) {
    const std::uint64_t begin = lowest_hole(block);
    const std::uint64_t end = begin + packing_.bytes[block];  // both below 2^63
    if (end > limit) return false;
    insert(block, begin);
    out.offsets[block] = begin;
    out.peak = std::max(out.peak, end);
  }
  return true;
}

std::uint64_t GapPacker::lowest_hole(BlockIndex block) const {
  const std::uint64_t bytes = packing_.bytes[block];
  std::uint64_t place = 0;
  for (const std::uint32_t index : in_order_) {
    const Chunk& chunk = chunks_[index];
    if (chunk.begin[0] >= place + bytes) break;
    if (chunk.highest_end <= place) continue;
    if (climb(chunk, packing_.lower[block], packing_.upper[block], bytes, place)) break;
  }
  return place;
}

// Moves `place` above what stands in its way in this chunk; true when a hole was found.
bool GapPacker::climb(const Chunk& chunk, std::int32_t lower, std::int32_t upper,
                      std::uint64_t bytes, std::uint64_t& place) {
  for (std::size_t group = 0; group < chunk.count; group += kGroup) {
    if (chunk.begin[group] >= place + bytes) return true;
    int meets = 0;  // without branches, so that it becomes one vector comparison
    for (std::size_t i = group; i < group + kGroup; ++i) {
      meets |= static_cast<int>(chunk.lower[i] < upper) & static_cast<int>(chunk.upper[i] > lower);
    }
    if (meets == 0) continue;
    for (std::size_t i = group; i < group + kGroup; ++i) {
      if (chunk.lower[i] >= upper || chunk.upper[i] <= lower) continue;
      if (chunk.begin[i] >= place + bytes) return true;
      place = std::max(place, chunk.end[i]);
    }
  }
  return false;
}

// The position in in_order_ of the chunk where a block at `begin` belongs, split if it was full.
std::size_t GapPacker::chunk_for(std::uint64_t begin) {
  if (in_order_.empty()) {
    chunks_.emplace_back().lower.fill(std::numeric_limits<std::int32_t>::max());
    chunks_[0].upper.fill(std::numeric_limits<std::int32_t>::min());
    in_order_.push_back(0);
  }
  const auto above = std::upper_bound(
      in_order_.begin() + 1, in_order_.end(), begin,
      [this](std::uint64_t value, std::uint32_t index) { return value < chunks_[index].begin[0]; });
  const auto position = static_cast<std::size_t>(above - in_order_.begin()) - 1;
  if (chunks_[in_order_[position]].count < kChunkBlocks) return position;

  chunks_.push_back(chunks_[in_order_[position]]);
  Chunk& low = chunks_[in_order_[position]];
  Chunk& high = chunks_.back();
  constexpr std::size_t kHalf = kChunkBlocks / 2;
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

void GapPacker::insert(BlockIndex block, std::uint64_t begin) {
  Chunk& chunk = chunks_[in_order_[chunk_for(begin)]];
  const std::size_t count = chunk.count++;
  const auto first = chunk.begin.begin();
  const auto at = static_cast<std::size_t>(
      std::upper_bound(first, first + static_cast<std::ptrdiff_t>(count), begin) - first);
  const auto put = [&](auto& column, auto value) {
    std::move_backward(column.begin() + at, column.begin() + count, column.begin() + count + 1);
    column[at] = value;
  };
  put(chunk.lower, packing_.lower[block]);
  put(chunk.upper, packing_.upper[block]);
  put(chunk.begin, begin);
  put(chunk.end, begin + packing_.bytes[block]);
  chunk.highest_end = std::max(chunk.highest_end, begin + packing_.bytes[block]);
}

}  // namespace skyline
