#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace skyline {

// Blocks that are alive in an arena although the plan does not count on them. They never overlap
// each other, so the neighbours of a range decide whether it is free. Only insert() allocates.
// O(log blocks).
class OverdueBlocks {
 public:
  struct Entry {
    std::size_t bytes = 0;
    std::uint64_t epoch = 0;      // of the step that requested the block
    std::size_t observation = 0;  // in that step's log
  };

  bool empty() const noexcept { return by_offset_.empty(); }
  std::size_t size() const noexcept { return by_offset_.size(); }

  void insert(std::uint64_t offset, const Entry& entry) { by_offset_.emplace(offset, entry); }

  // Removes and returns the entry of the block at `offset`, which exists: blocks are released once.
  Entry take(std::uint64_t offset) noexcept {
    const auto found = by_offset_.find(offset);
    assert(found != by_offset_.end());
    const Entry entry = found->second;
    by_offset_.erase(found);
    return entry;
  }

  bool overlaps(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    const auto above =
        by_offset_.lower_bound(offset + bytes);  // the first that begins past the range
    if (above == by_offset_.begin()) return false;
    const auto below = std::prev(above);
    return below->first + below->second.bytes > offset;
  }

  // Returns the lowest offset at which `bytes` overlap no block.
  std::uint64_t first_free_offset(std::uint64_t bytes) const noexcept {
    std::uint64_t offset = 0;
    for (const auto& [begin, entry] : by_offset_) {
      if (begin >= offset + bytes) break;
      offset = begin + entry.bytes;
    }
    return offset;
  }

  // Returns the end of the highest block.
  std::uint64_t end_bytes() const noexcept {
    if (by_offset_.empty()) return 0;
    const auto last = std::prev(by_offset_.end());
    return last->first + last->second.bytes;
  }

  auto begin() const noexcept { return by_offset_.begin(); }
  auto end() const noexcept { return by_offset_.end(); }

 private:
  std::map<std::uint64_t, Entry> by_offset_;
};

}  // namespace skyline
