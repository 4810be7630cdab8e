// A sweep over the blocks of a plan by tick, with the blocks alive ordered by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// A set of numbers below a limit, as bits: a word of a level says which words below it hold some.
// All functions take O(log n) with base 64.
class LiveRanks {
 public:
  explicit LiveRanks(std::size_t limit);

  void insert(std::size_t rank);
  void erase(std::size_t rank);
  // Return the nearest number of the set above or below `rank`.
  std::optional<std::size_t> above(std::size_t rank) const;
  std::optional<std::size_t> below(std::size_t rank) const;

 private:
  std::vector<std::vector<std::uint64_t>> levels_;  // level 0 has a bit for each number
};

// A block in its place during one use: its lifetime up to, between or after gaps.
struct Placed {
  std::size_t index;  // in the trace
  Tick lower, upper;
  std::uint64_t begin, end;  // addresses, half-open
};

// The validator's sweep over time. It holds the live blocks ordered by address, where a new block
// can only overlap its neighbours. Shares no code with planners. At most 2^32 blocks.
class PlanSweep {
 public:
  // Lifetimes and addresses must not be empty. O(n).
  explicit PlanSweep(const std::vector<Placed>& placed);

  // Returns the first pair that shares a byte at a tick, the earlier block first. Call it once.
  // O(n log n), with base 64 in the logarithm.
  std::optional<std::pair<Placed, Placed>> first_overlap();

  // Returns the most bytes alive at one tick, after first_overlap() found none.
  std::uint64_t most_live_bytes() const { return most_live_bytes_; }

 private:
  struct Range {
    std::uint64_t begin, end;
    std::uint32_t place;  // in placed_
  };

  void retire(std::uint32_t rank);
  // Returns the place of a live block that shares a byte with this one.
  std::optional<std::uint32_t> meets(std::uint32_t rank) const;

  const std::vector<Placed>& placed_;
  std::vector<Range> ranges_;        // by address: a rank is a position here
  std::vector<std::uint32_t> rank_;  // by place
  LiveRanks live_;
  std::uint64_t live_bytes_ = 0;  // cannot overflow: live blocks do not overlap
  std::uint64_t most_live_bytes_ = 0;
};

}  // namespace skyline
