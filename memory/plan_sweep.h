#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "memory/live_ranks.h"
#include "memory/trace.h"

namespace skyline {

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
  void retire(std::uint32_t place);
  const Placed* meets(std::uint32_t place) const;

  const std::vector<Placed>& placed_;
  std::vector<std::uint32_t> by_begin_;  // rank by address → position in placed_
  std::vector<std::uint32_t> rank_;      // position in placed_ → rank by address
  LiveRanks live_;
  std::uint64_t live_bytes_ = 0;  // cannot overflow: live blocks do not overlap
  std::uint64_t most_live_bytes_ = 0;
};

}  // namespace skyline
