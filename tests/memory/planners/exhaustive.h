#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// Returns the least peak for a trace of few blocks and at most 64 ticks, 0 … 63. Shares no code
// with the planners. Placing blocks in the lowest hole gives an optimal plan for some order (that
// of the offsets in an optimal plan), so it tries all orders, except those already as high as the
// best.
class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const Trace& trace, std::uint64_t alignment) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      Block block{.bytes = planned_bytes(trace, i, alignment), .alignment = trace.alignment(i, 1)};
      for (Tick t = trace.blocks[i].lower; t < trace.blocks[i].upper; ++t) block.used |= bit(t);
      for (const TraceGap& gap : trace.gaps) {
        if (gap.block != i) continue;
        for (Tick t = gap.lower; t < gap.upper; ++t) block.used &= ~bit(t);
      }
      if (const auto fixed = trace.fixed_offset(i)) {
        block.offset = *fixed;
        placed_.push_back(block);
        lowest_peak_ = std::max(lowest_peak_, block.offset + block.bytes);
      } else {
        free_.push_back(block);
      }
    }
  }

  std::uint64_t optimum() {
    search(lowest_peak_);
    return best_;
  }

 private:
  struct Block {
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;  // one bit a tick
    std::uint64_t alignment = 1, offset = 0;
    bool taken = false;
  };

  static std::uint64_t bit(Tick tick) { return std::uint64_t{1} << tick; }

  void search(std::uint64_t peak) {
    if (peak >= best_) return;
    bool left = false;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].taken) continue;
      left = true;
      free_[i].taken = true;
      Block block = free_[i];
      block.offset = lowest_hole(block);
      placed_.push_back(block);
      search(std::max(peak, block.offset + block.bytes));
      placed_.pop_back();
      free_[i].taken = false;
    }
    if (!left) best_ = peak;
  }

  std::uint64_t lowest_hole(const Block& block) const {
    std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
    if (fits(block, 0)) return 0;
    for (const Block& below : placed_) {
      const std::uint64_t end = below.offset + below.bytes;
      const std::uint64_t place = (end + block.alignment - 1) / block.alignment * block.alignment;
      if (place < lowest && fits(block, place)) lowest = place;
    }
    return lowest;
  }

  bool fits(const Block& block, std::uint64_t place) const {
    return std::none_of(placed_.begin(), placed_.end(), [&](const Block& other) {
      return (other.used & block.used) != 0 && block.bytes > 0 && other.bytes > 0 &&
             other.offset < place + block.bytes && place < other.offset + other.bytes;
    });
  }

  std::vector<Block> free_, placed_;
  std::uint64_t lowest_peak_ = 0;
  std::uint64_t best_ = std::numeric_limits<std::uint64_t>::max();
};

inline std::uint64_t optimum(const Trace& trace, std::uint64_t alignment = 1) {
  return ExhaustiveSearch(trace, alignment).optimum();
}

}  // namespace skyline
