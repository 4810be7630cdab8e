// What the exact search keeps and undoes: its blocks, and the least height over ranges of ticks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "memory/planners/exact/exact_problem.h"

namespace skyline {

// Computes the minimum at each place of a row from values given for ranges of places: a sparse
// table used backwards. Noting a range updates two entries at the level of log2(length), O(1).
// row() then pushes all levels down, O(row × levels) in straight loops.
template <typename Value>
class RangeMinimum {
 public:
  static constexpr Value kNone = std::numeric_limits<Value>::max() / 2;

  // Takes the length of the row and the half-open ranges, by number, that note() will be called
  // with.
  template <typename Ranges>
  RangeMinimum(std::size_t places, const Ranges& ranges) : places_(places) {
    table_.resize(places * (level_of(places) + 1));
    for (const auto& range : ranges) {
      const auto begin = static_cast<std::size_t>(range.begin);
      const auto end = static_cast<std::size_t>(range.end);
      const std::size_t level = level_of(end - begin);
      spots_.push_back(
          {static_cast<std::uint32_t>(level * places + begin),
           static_cast<std::uint32_t>(level * places + end - (std::size_t{1} << level))});
    }
  }

  // Forgets all values for places [first, last).
  void clear(std::size_t first, std::size_t last) {
    for (std::size_t level = 0; level <= level_of(last - first); ++level) {
      std::fill_n(table_.begin() + static_cast<std::ptrdiff_t>(level * places_ + first),
                  last - first, kNone);
    }
  }

  // Notes a value for a range, which must lie within the places cleared last.
  void note(std::size_t range, Value value) {
    Value& head = table_[spots_[range].head];
    head = std::min(head, value);
    Value& tail = table_[spots_[range].tail];
    tail = std::min(tail, value);
  }

  // Returns the row from place 0 on, of which [first, last) is valid: the minimum at each place, or
  // kNone.
  const Value* row(std::size_t first, std::size_t last) {
    for (std::size_t level = level_of(last - first); level > 0; --level) {
      const std::size_t half = std::size_t{1} << (level - 1);
      const Value* from = table_.data() + level * places_;
      Value* to = table_.data() + (level - 1) * places_;
      for (std::size_t i = first; i + 2 * half <= last; ++i) to[i] = std::min(to[i], from[i]);
      for (std::size_t i = first; i + 2 * half <= last; ++i) {
        to[i + half] = std::min(to[i + half], from[i]);
      }
    }
    return table_.data();
  }

 private:
  struct Spots {
    std::uint32_t head, tail;
  };

  static std::size_t level_of(std::size_t length) {
    return static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(length, 1)) - 1);
  }

  std::size_t places_;
  std::vector<Value> table_;  // by level, then place
  std::vector<Spots> spots_;  // by range
};

// The decisions of the exact search and what follows from them for open blocks; undo() takes them
// back. Units is an integer that holds twice the capacity. Invariant: no open block can begin below
// its `lowest`. No heap allocation at a depth that was reached before.
template <typename Units>
struct ExactState {
  using Block = std::int32_t;
  using Section = std::int32_t;
  static constexpr Block kNoBlock = -1;

  // Consecutive sections, and the range of `open` that holds their blocks.
  struct Part {
    Section first, last;
    std::size_t open_first, open_last;
  };
  struct Raised {
    Block block;
    Units lowest, supported;  // values before
  };
  struct Placed {
    Block block;
    Block twin_below;
  };
  struct Mark {
    std::size_t raised, placed;
  };

  const ExactProblem& problem;
  std::vector<Units> units, stacked_units;
  Units slack;
  std::vector<char> fixed;
  // By block:
  std::vector<Units> offset;
  std::vector<Units> lowest;
  std::vector<Units> supported;  // highest end of the placed blocks that it meets, aligned
  std::vector<Block> open;       // not placed; each Part owns a range
  std::vector<Block> top_twin;   // by kind: the block placed last
  // By section:
  std::vector<Units> open_units;        // sum over its open blocks, as stacked
  std::vector<std::int32_t> crossings;  // open blocks that also cover the section before
  // Undo logs:
  std::vector<Raised> raised;
  std::vector<Placed> placed;

  explicit ExactState(const ExactProblem& of);
  void reset();

  // Places an open block, already removed from its part, and raises the open blocks that it meets.
  // Returns false if a fixed block is in the way; undo() is needed all the same.
  bool place(Block block, Units at, const Part& part);
  void raise(Block block, Units to) {
    const auto b = static_cast<std::size_t>(block);
    raised.push_back({block, lowest[b], supported[b]});
    lowest[b] = to;
  }
  // Returns the lowest level from this one on where the block may begin.
  Units aligned(Units level, std::size_t block) const {
    if (alignment.empty()) return level;
    const Units over = level % alignment[block];
    return over == 0 ? level : level + (alignment[block] - over);
  }
  Mark mark() const { return {raised.size(), placed.size()}; }
  void undo(const Mark& to);

  // True if the block may begin at this level now: it is supported there, or fixed there.
  bool is_candidate(Block block, Units level) const {
    const auto b = static_cast<std::size_t>(block);
    return lowest[b] == level && (supported[b] == level || fixed[b]);
  }
  bool covers(Block block, Section section) const;
  bool meet(Block a, Block b) const;

  // Calls row(begin, end) for each run of sections in which the block is in use.
  template <typename Row>
  void for_sections(Block block, Row row) const {
    const auto b = static_cast<std::size_t>(block);
    if (!problem.has_gaps) {
      row(problem.hull[b].begin, problem.hull[b].end);
      return;
    }
    for (std::uint32_t p = problem.first_part[b]; p < problem.first_part[b + 1]; ++p) {
      row(problem.parts[p].begin, problem.parts[p].end);
    }
  }

 private:
  // A block whose numbers are larger is alone in its sections, or can only begin at 0.
  static Units capped(std::int64_t units) {
    return static_cast<Units>(std::min<std::int64_t>(units, std::numeric_limits<Units>::max() / 4));
  }

  // Adds an open block to the sums of its sections, or removes one.
  void count(Block block, Units more_units, std::int32_t more_crossings);

  std::vector<Units> alignment;  // empty if every level is aligned
};

template <typename Units>
ExactState<Units>::ExactState(const ExactProblem& of) : problem(of), slack(capped(of.slack)) {
  for (const std::int64_t step : of.alignment) alignment.push_back(capped(step));
  for (std::size_t b = 0; b < of.size(); ++b) {
    units.push_back(static_cast<Units>(of.units[b]));
    stacked_units.push_back(capped(of.stacked_units[b]));
    fixed.push_back(of.fixed_units[b] != ExactProblem::kFree);
  }
}

template <typename Units>
void ExactState<Units>::reset() {
  const std::size_t blocks = problem.size();
  const auto sections = static_cast<std::size_t>(problem.sections);
  offset.assign(blocks, 0);
  lowest.assign(blocks, 0);
  supported.assign(blocks, 0);
  open.resize(blocks);
  std::iota(open.begin(), open.end(), 0);
  top_twin.assign(problem.kinds, kNoBlock);
  open_units.assign(sections, 0);
  crossings.assign(sections + 1, 0);
  raised.clear();
  placed.clear();
  for (std::size_t b = 0; b < blocks; ++b) {
    if (fixed[b]) lowest[b] = static_cast<Units>(problem.fixed_units[b]);
    count(static_cast<Block>(b), stacked_units[b], 1);
  }
}

template <typename Units>
void ExactState<Units>::count(Block block, Units more_units, std::int32_t more_crossings) {
  for_sections(block, [&](Section begin, Section end) {
    for (Section s = begin; s < end; ++s) open_units[static_cast<std::size_t>(s)] += more_units;
  });
  const ExactProblem::Range& hull = problem.hull[static_cast<std::size_t>(block)];
  for (Section s = hull.begin + 1; s < hull.end; ++s) {
    crossings[static_cast<std::size_t>(s)] += more_crossings;
  }
}

template <typename Units>
bool ExactState<Units>::place(Block block, Units at, const Part& part) {
  const auto b = static_cast<std::size_t>(block);
  const Units end = at + units[b];
  offset[b] = at;
  Block& twin = top_twin[problem.kind[b]];
  placed.push_back({block, twin});
  twin = block;
  count(block, -stacked_units[b], -1);
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto other = static_cast<std::size_t>(open[k]);
    if (!meet(block, open[k]) || supported[other] >= end) continue;
    const Units support = aligned(end, other);
    raise(open[k], std::max(lowest[other], support));
    supported[other] = support;
    if (fixed[other] && lowest[other] != problem.fixed_units[other]) return false;
  }
  return true;
}

template <typename Units>
void ExactState<Units>::undo(const Mark& to) {
  for (; placed.size() > to.placed; placed.pop_back()) {
    const auto b = static_cast<std::size_t>(placed.back().block);
    top_twin[problem.kind[b]] = placed.back().twin_below;
    count(placed.back().block, stacked_units[b], 1);
  }
  for (; raised.size() > to.raised; raised.pop_back()) {
    const auto b = static_cast<std::size_t>(raised.back().block);
    lowest[b] = raised.back().lowest;
    supported[b] = raised.back().supported;
  }
}

template <typename Units>
bool ExactState<Units>::covers(Block block, Section section) const {
  bool found = false;
  for_sections(block,
               [&](Section begin, Section end) { found |= begin <= section && section < end; });
  return found;
}

template <typename Units>
bool ExactState<Units>::meet(Block a, Block b) const {
  const auto& hull_a = problem.hull[static_cast<std::size_t>(a)];
  const auto& hull_b = problem.hull[static_cast<std::size_t>(b)];
  if (hull_a.begin >= hull_b.end || hull_b.begin >= hull_a.end) return false;
  if (!problem.has_gaps) return true;
  bool found = false;
  for_sections(a, [&](Section begin_a, Section end_a) {
    for_sections(
        b, [&](Section begin_b, Section end_b) { found |= begin_a < end_b && begin_b < end_a; });
  });
  return found;
}

}  // namespace skyline
