// PGMO's best-fit heuristic on the skyline.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "memory/planners/packing.h"
#include "memory/planners/planner.h"
#include "memory/planners/search.h"
#include "memory/planners/skyline/block_tree.h"

namespace skyline {

// The loop of PGMO section 3.2. The skyline over time is a row of offset lines, at first one at 0.
// Choose the lowest line, the leftmost of equals. Place on it the best-ranked block whose lifetime
// lies within it; this splits the line in up to three. If no block fits, merge the line with its
// lower neighbour, or with both if they are equally high. One packer serves many passes over the
// same blocks. A pass is O(n log n) plus the cost of BlockTree::find.
class SkylinePacker {
 public:
  explicit SkylinePacker(const Packing& packing) : packing_(packing), tree_(packing) {}

  // Later passes give up soon after it.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  // Places the blocks; those first in `order` rank best. Returns false, with `out` undefined, as
  // soon as a block would end above `limit`, or soon after the deadline. Clears and fills `log`
  // unless it is null, in O(n²). The blocks of `pyramid` come first, one on top of the other; each
  // lives within the ticks of the one before and has bytes.
  bool pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out,
            BestFitLog* log = nullptr, std::span<const BlockIndex> pyramid = {});

 private:
  using LineIndex = std::uint32_t;
  static constexpr LineIndex kNoLine = std::numeric_limits<LineIndex>::max();
  struct Line {
    std::int32_t lower, upper;
    std::uint64_t offset;
    LineIndex before, after;
  };
  static constexpr std::uint64_t kRemoved = std::numeric_limits<std::uint64_t>::max();  // an offset
  // A line as it was when queued; stale if the line has changed since.
  struct Queued {
    std::uint64_t offset;
    std::int32_t lower;
    LineIndex line;
  };

  void start(std::size_t blocks, const Placement& placed, std::span<const BlockIndex> pyramid);
  bool place_pyramid(std::span<const BlockIndex> pyramid, std::uint64_t limit, Placement& out);
  LineIndex lowest_line();
  void queue(LineIndex line);
  LineIndex add_line_after(LineIndex before, const Line& line);
  void remove_line(LineIndex line);
  void split(LineIndex line, BlockIndex block, std::uint64_t top);
  LineIndex lift(LineIndex line);
  void note(BestFitLog* log, BestFitEvent::Kind kind, const Line& line) const;
  void give_reasons(BestFitEvent& choice, LineIndex line,
                    std::span<const BlockIndex> unplaced) const;

  const Packing& packing_;
  BlockTree tree_;
  std::vector<Line> lines_;
  std::vector<LineIndex> unused_;
  std::vector<Queued> queue_;      // a heap
  std::vector<LineIndex> lowest_;  // known lines at the lowest offset, the leftmost last
  Deadline deadline_;
};

// PGMO's heuristic (section 3.2): longest lifetime first, or largest size, or most bytes × ticks
// first (Burke et al. 2004). Ties: the larger block, then the longer-lived, then the earlier
// request. Fill options.log. About O(n log n), see SkylinePacker.
Plan best_fit(const Trace& trace, const PlanOptions& options);
Plan best_fit_by_size(const Trace& trace, const PlanOptions& options);
Plan best_fit_by_area(const Trace& trace, const PlanOptions& options);

// OLLA's placement in advance (section 4), then best_fit() on top of it. In a training step, what
// forward computes first is freed last, so blocks that reach from forward to backward are nested
// like the steps of a pyramid. They go to the bottom, the longest-lived first: each is the
// longest-lived of those that live within the ticks of the one before. Uses no gaps and keeps no
// fixed offsets. The plan says how many blocks it placed so.
Plan pyramid(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
