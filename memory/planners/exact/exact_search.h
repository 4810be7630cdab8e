#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/planners/exact/exact_problem.h"
#include "memory/planners/search.h"

namespace skyline {

// Inferences of the exact search. Each is sound alone and with the others.
struct ExactRules {
  bool jump_down = true;  // no block may end up above room that stays free for it
  bool twins = true;      // stack blocks in use at the same time in one order only
  bool decompose = true;  // solve parts separately once no open block joins them
  bool weigh = true;      // decide first where the search failed before
  bool valleys = true;    // decide in any valley of the floors, not only at the lowest level
};

// The effort that a search may still spend. It ends when failures or work run out, or at the
// deadline.
struct ExactEffort {
  std::uint64_t failures = 0;  // decisions that break a bound, in one search
  std::uint64_t work = 0;      // blocks visited, over many searches
  Deadline deadline;
};

// Branch and bound over canonical packings (the idea of MiniMalloc, in another order). A packing is
// canonical if every block lies at address 0, at its fixed offset, or at the first address after
// another block that its alignment permits. The search fills memory from below. The floor of a
// section is the lowest level at which a block may still begin there. The search takes a section
// with few candidates in a valley of the floors, preferring sections where it failed before. Then
// it decides which block begins there, or that none does. Each canonical packing is reached in
// exactly one way.
//
// Bounds after each decision: every open block has a lowest offset, which follows from the blocks
// below it and from decisions to leave its place empty. The lowest offset in a section plus the
// sizes of its open blocks must not exceed the capacity. ExactRules lists the rest. The rules are
// sound together: among the packings with the least sum of size × offset, one with the fewest twins
// out of rank order breaks none of them.
//
// Flat arrays; no heap allocation and no clock in the inner loop. A node costs O(open blocks +
// sections × log sections), and as much again for each block that an empty place raises. Recursion
// is as deep as there are blocks.
class ExactSearch {
 public:
  enum class Outcome { kFound, kImpossible, kGaveUp };

  virtual ~ExactSearch() = default;

  // Searches for a packing with a peak of at most `capacity_units`. Tries blocks of lower `rank`
  // first. Reads `weights`, one a section, and raises them where it fails. Throws
  // std::invalid_argument if the capacity is too large for the integers that make() chose.
  virtual Outcome search(std::int64_t capacity_units, std::span<const std::uint32_t> rank,
                         std::vector<double>& weights, ExactEffort& effort) = 0;

  // Returns a block's offset in the packing found last.
  virtual std::int64_t offset_units(std::size_t block) const = 0;

  // The problem must outlive the search. Capacities must be at most `most_units`, which decides the
  // width of the integers.
  static std::unique_ptr<ExactSearch> make(const ExactProblem& problem, std::int64_t most_units,
                                           const ExactRules& rules = {});
};

}  // namespace skyline
