#include "memory/planners/holes/free_ranges.h"

namespace skyline {

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
