// PGMO's program, in which one of two blocks lies above the other, solved by CBC and by Z3.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/planner.h"

namespace skyline {

// Limits on what a general solver is given.
struct PairModelLimits {
  std::size_t blocks = 0;
  std::size_t pairs = 0;
  std::uint64_t units = kMaxAddress;  // of the peak; larger peaks are counted in larger units
};

// A solver spends this share of its time on PairModel::units_to_ask_first().
inline constexpr double kShareForCapacity = 0.5;

// The packing problem of PGMO section 3.1 for general solvers: integer offsets and sizes in units,
// and for each pair of blocks in use at the same tick, one lies above the other. Also holds the
// best placement so far, at first that of a simple rule, and the proved bound.
class PairModel {
 public:
  // Two fixed blocks make no pair. Throws std::invalid_argument, naming planner `name` and the
  // limit, for a trace beyond the limits, and TraceError if no plan lies below 2^63. O(n²).
  PairModel(const Packing& packing, std::string_view name, const PairModelLimits& limits);

  const std::vector<std::pair<BlockIndex, BlockIndex>>& pairs() const { return pairs_; }
  std::size_t blocks() const { return packing_.size(); }
  std::uint64_t size_units(BlockIndex block) const { return packing_.bytes[block] / unit_; }
  bool is_fixed(BlockIndex block) const { return packing_.is_fixed(block); }
  std::uint64_t fixed_units(BlockIndex block) const { return packing_.fixed[block] / unit_; }
  // Offsets must be multiples of it; 1 if units are too large to say.
  std::uint64_t alignment_units(BlockIndex block) const {
    return has_alignments() ? packing_.alignments[block] / unit_ : 1;
  }
  bool has_alignments() const { return !rounds_ && !packing_.alignments.empty(); }
  // At most what any plan's peak counts.
  std::uint64_t bound_units() const { return (bound_ + (rounds_ ? 0 : unit_ - 1)) / unit_; }
  std::uint64_t peak_units() const { return best_.peak / unit_; }
  std::uint64_t to_units(std::uint64_t bytes) const { return bytes / unit_; }
  std::uint64_t unit_bytes() const { return unit_; }
  // The sum of all sizes, above the highest fixed block; at most `most` where a simple rule's plan
  // needs no more.
  std::uint64_t units_of_all(std::uint64_t most) const {
    return std::min(to_units(bytes_of_all()), std::max(peak_units(), most));
  }
  // A capacity above the bound. A solver that leaves it open then asks what it asks without one, so
  // that its plan is no worse.
  std::optional<std::uint64_t> units_to_ask_first(const PlanOptions& options) const;

  // True if the best placement is optimal or within the capacity, or the capacity is proved
  // impossible.
  bool settled(const PlanOptions& options) const;

  // Takes a solver's offsets if they need no more than the best placement. They only give the order
  // of the blocks; each is then placed as low as it goes, so a solver's rounding does no harm.
  template <class Number>
  void offer(const std::vector<Number>& offsets) {
    std::vector<BlockIndex> order(blocks());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&offsets](BlockIndex a, BlockIndex b) { return offsets[a] < offsets[b]; });
    offer_order(order);
  }

  // Records that no plan has a lower peak.
  void prove(std::uint64_t units);

  // Returns the best placement as a plan of the solver's planner, or of the simple rule if the
  // solver neither improved on it nor proved a bound.
  Plan plan(const PlanOptions& options);

 private:
  void find_pairs();
  void place_simply();
  void offer_order(const std::vector<BlockIndex>& order);
  void count_in_at_most(std::uint64_t units);
  std::uint64_t bytes_of_all() const;

  const Packing& packing_;
  const std::string_view name_;
  HolePacker packer_;
  std::uint64_t unit_ = 1;   // bytes
  bool rounds_ = false;      // the unit does not divide all sizes and fixed offsets
  std::uint64_t bound_ = 0;  // bytes
  std::vector<std::pair<BlockIndex, BlockIndex>> pairs_;
  Placement best_;
  std::string_view rule_;   // that made the first placement
  bool by_solver_ = false;  // improved or proved
};

// Solves the mixed-integer program of PGMO section 3.1 with COIN-OR CBC: the paper's reference, for
// small traces. W is the capacity, else the sum of all sizes (at most 2^20 units if a simple rule's
// plan fits into them); with a capacity, any plan within it is enough. Unlike the paper's, the
// program states that u is at least the lower bound, which CBC seldom proves by itself. Returns
// CBC's plan, with its report, unless that of a simple rule needs less. Stops at
// options.time_limit_seconds, or without one after a number of nodes that depends on the number of
// rows. Keeps fixed offsets; blocks share addresses in their gaps. Runs one solve at a
// time in a process, because CBC keeps state in global variables. Counts in units, the greatest
// common divisor of all sizes. A peak of more than 2^20 of them, where CBC's tolerances would
// exceed half a unit, is counted in larger ones: then bounds are exact to a millionth of the peak,
// and plans are proved optimal only if they meet such a bound. Throws std::invalid_argument
// beyond 1000 blocks or 20000 pairs of blocks that meet.
Plan mip(const Trace& trace, const PlanOptions& options);

// Returns that program for other solvers, as text in CPLEX's LP format or in MPS, with 0 ≤ u ≤ W as
// in the paper. Throws as mip() does.
std::string mip_text(const Trace& trace, const PlanOptions& options, bool mps);

// Solves PGMO section 3.1 in difference logic with Z3: x_i + w_i ≤ x_j or x_j + w_j ≤ x_i for each
// pair that meets, under a bound on the peak. Tries the lower bound first, then halves the range
// between the proved bound and the best plan. Returns the best known plan, proved optimal if no
// smaller bound can be satisfied. Stops at options.time_limit_seconds, or without one after a fixed
// amount of Z3's work. Names the simple rule that made the plan if Z3 adds nothing. Keeps fixed
// offsets; blocks share addresses in their gaps. For small traces: throws std::invalid_argument
// beyond 1000 blocks or 20000 pairs of blocks that meet.
Plan smt(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
