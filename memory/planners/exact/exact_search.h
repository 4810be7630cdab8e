#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/planners/exact/exact_problem.h"
#include "memory/planners/search_budget.h"

namespace skyline {

// Which inferences the exact search draws; each is sound alone and with the others.
struct ExactRules {
  bool jump_down = true;  // no block may end up above room that stays free for it
  bool twins = true;      // blocks in use at the same time are stacked in one order only
  bool decompose = true;  // parts that no open block joins any more are solved one by one
  bool weigh = true;      // decide first where the search failed before
};

// How much a search may still do. It ends when the failures or the work are used up, or at the
// deadline.
struct ExactEffort {
  std::uint64_t failures = 0;  // decisions that broke a bound, of one search; counts down
  std::uint64_t work = 0;      // blocks looked at; counts down over many searches
  Deadline deadline;
};

// Branch and bound over canonical packings, the idea of MiniMalloc, in another order. A packing is
// canonical when every block lies at address 0, at its fixed offset, or on top of another. The
// search fills memory from below: it takes the lowest level at which any block may still begin, a
// section there with few blocks to choose from (the fewer, and the more often the section was the
// one where the search failed, the sooner), and decides which block begins at that level in that
// section, or that none does. Each canonical packing is reached in one way only.
//
// Bounds after each decision: every block not yet placed has a lowest offset, from the blocks below
// it and from the decisions that left its place empty; the lowest of a section's blocks plus all
// their sizes must not pass the capacity. See ExactRules for the rest. The rules do not exclude
// each other's packings: of those that are least in the sum of size × offset, one with the fewest
// twins out of the order of their ranks breaks none of them.
//
// Flat arrays, no heap allocation and no clock in the inner loop. A node costs
// O(open blocks + sections × log sections), and as much for each block that an empty place raises;
// recursion is as deep as there are blocks.
class ExactSearch {
 public:
  enum class Outcome { kFound, kImpossible, kGaveUp };

  virtual ~ExactSearch() = default;

  // Looks for a packing with a peak of at most `capacity_units`. Blocks of lower `rank` are tried
  // first. `weights`, one a section, is read and added to where the search fails.
  // Throws std::invalid_argument when the capacity is too large for the numbers chosen by make().
  virtual Outcome search(std::int64_t capacity_units, std::span<const std::uint32_t> rank,
                         std::vector<double>& weights, ExactEffort& effort) = 0;

  // The packing found last: the offset of each block.
  virtual std::int64_t offset_units(std::size_t block) const = 0;

  // The problem outlives the search. Capacities will be at most `most_units`, which decides the
  // width of the numbers.
  static std::unique_ptr<ExactSearch> make(const ExactProblem& problem, std::int64_t most_units,
                                           const ExactRules& rules = {});
};

}  // namespace skyline
