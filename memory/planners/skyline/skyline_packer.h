#pragma once

#include <cstdint>
#include <vector>

#include "memory/planners/packing.h"
#include "memory/planners/search_budget.h"
#include "memory/planners/skyline/block_tree.h"

namespace skyline {

// The loop of PGMO section 3.2: the skyline over time is a row of offset lines, one at 0 at first.
// Choose the lowest line, the leftmost of equals; place on it the block of best rank that lives
// within it, as far left as that block lives, which splits the line in up to three; if no block
// fits, merge the line with its lowest neighbour, with both when they are equally high. One packer
// serves many passes over the same blocks. A pass is O(n log n) but for BlockTree::find.
class SkylinePacker {
 public:
  explicit SkylinePacker(const Packing& packing) : packing_(packing), tree_(packing) {}

  // From then on passes are given up.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  // Blocks that come first in `order` rank best. Gives up, returning false, as soon as a block
  // would end above `limit`, or soon after the deadline; then `out` is of no use. `log`, if any, is
  // cleared and filled.
  bool pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out,
            BestFitLog* log = nullptr);

 private:
  using LineIndex = std::uint32_t;
  static constexpr LineIndex kNoLine = std::numeric_limits<LineIndex>::max();
  struct Line {
    std::int32_t lower, upper;
    std::uint64_t offset;
    LineIndex before, after;
  };
  static constexpr std::uint64_t kRemoved = std::numeric_limits<std::uint64_t>::max();  // offset
  // A line as it was when queued; stale when the line has changed since.
  struct Queued {
    std::uint64_t offset;
    std::int32_t lower;
    LineIndex line;
  };

  void start(std::size_t blocks);
  LineIndex lowest_line();
  void queue(LineIndex line);
  LineIndex add_line_after(LineIndex before, const Line& line);
  void remove_line(LineIndex line);
  void split(LineIndex line, BlockIndex block, std::uint64_t top);
  LineIndex lift(LineIndex line);
  void note(BestFitLog* log, BestFitEvent::Kind kind, const Line& line) const;

  const Packing& packing_;
  BlockTree tree_;
  std::vector<Line> lines_;
  std::vector<LineIndex> unused_;
  std::vector<Queued> queue_;      // a heap
  std::vector<LineIndex> lowest_;  // those at the lowest offset that are known; leftmost last
  Deadline deadline_;
};

}  // namespace skyline
