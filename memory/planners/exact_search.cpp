#include "memory/planners/exact_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "memory/planners/range_minimum.h"

namespace skyline {
namespace {

constexpr std::uint64_t kNodesPerClock = 64;
constexpr std::int32_t kNoBlock = -1;

// Units: an integer that holds twice the capacity.
template <typename Units>
class Search final : public ExactSearch {
 public:
  Search(const ExactProblem& problem, const ExactRules& rules);

  Outcome search(std::int64_t capacity_units, std::span<const std::uint32_t> rank,
                 std::vector<double>& weights, ExactEffort& effort) override;
  std::int64_t offset_units(std::size_t block) const override { return offset_[block]; }

 private:
  using Block = std::int32_t;
  using Section = std::int32_t;
  static constexpr Units kNever = RangeMinimum<Units>::kNone;

  // Sections that hang together, and where in open_ their blocks stand.
  struct Part {
    Section first, last;
    std::size_t open_first, open_last;
  };
  struct Decision {
    Section section;
    Units level;
  };
  struct Raised {
    Block block;
    Units lowest, supported;
  };
  struct Placed {
    Block block;
    Block twin_below;
  };
  struct Mark {
    std::size_t raised, placed;
  };

  void reset();
  bool may_go_on();
  bool solve(const Part& part);
  bool solve_parts(const Part& part);
  bool settle(const Part& part, Decision& decision);
  bool measure(const Part& part, Units& level);
  bool choose(const Part& part, Units level, Decision& decision, bool& moved);
  bool try_candidates(const Part& part, const Decision& decision);
  bool is_repetition(std::size_t first, std::size_t position, Units level) const;
  bool place(Block block, Units offset, const Part& part);
  bool leave_empty(Section section, Units level, const Part& part);
  bool raise(Block block, Units level, const Part& part);
  Mark mark() const { return {raised_.size(), placed_.size()}; }
  void undo(const Mark& to);

  bool is_candidate(Block block, Units level) const {
    const auto b = static_cast<std::size_t>(block);
    return lowest_[b] == level && (supported_[b] == level || fixed_[b]);
  }
  bool covers(Block block, Section section) const;
  bool meet(Block a, Block b) const;
  template <typename Row>
  void for_sections(Block block, Row row) const {
    const auto b = static_cast<std::size_t>(block);
    if (!problem_.has_gaps) {
      row(hull_[b].begin, hull_[b].end);
      return;
    }
    for (std::uint32_t p = problem_.first_part[b]; p < problem_.first_part[b + 1]; ++p) {
      row(problem_.parts[p].begin, problem_.parts[p].end);
    }
  }

  const ExactProblem& problem_;
  const ExactRules rules_;
  const std::vector<ExactProblem::Range>& hull_;
  std::vector<Units> units_;
  std::vector<char> fixed_;
  Units capacity_ = 0;
  std::span<const std::uint32_t> rank_;
  std::vector<double>* weights_ = nullptr;
  ExactEffort* effort_ = nullptr;
  std::uint64_t nodes_ = 0;
  bool gave_up_ = false;

  // Of blocks.
  std::vector<Units> offset_;
  std::vector<Units> lowest_;     // no open block begins below this
  std::vector<Units> supported_;  // the highest end of the placed blocks that it meets
  std::vector<Block> open_;       // not placed; each Part owns a stretch of it
  std::vector<Block> top_twin_;   // of a kind: the block placed last
  // Of sections.
  std::vector<Units> open_units_;  // sum of open blocks
  RangeMinimum<Units> lowest_here_;
  const Units* floor_ = nullptr;  // least lowest_ of open blocks; valid within settle()
  std::vector<std::int32_t> candidates_here_;  // how many more than in the section before; the same
  std::vector<std::int32_t> crossings_;  // open blocks that join a section to the one before it
  // Undo logs and a stack of candidates.
  std::vector<Raised> raised_;
  std::vector<Placed> placed_;
  std::vector<Block> candidates_;
};

template <typename Units>
Search<Units>::Search(const ExactProblem& problem, const ExactRules& rules)
    : problem_(problem),
      rules_(rules),
      hull_(problem.hull),
      lowest_here_(static_cast<std::size_t>(problem.sections), problem.parts) {
  for (std::size_t k = 0; k < problem.size(); ++k) {
    units_.push_back(static_cast<Units>(problem.units[k]));
    fixed_.push_back(problem.fixed_units[k] != ExactProblem::kFree);
  }
  const auto sections = static_cast<std::size_t>(problem.sections);
  candidates_here_.resize(sections + 1);
  crossings_.resize(sections + 1);
  open_.resize(problem.size());
}

template <typename Units>
void Search<Units>::reset() {
  const std::size_t blocks = problem_.size();
  const auto sections = static_cast<std::size_t>(problem_.sections);
  offset_.assign(blocks, 0);
  lowest_.assign(blocks, 0);
  supported_.assign(blocks, 0);
  std::iota(open_.begin(), open_.end(), 0);
  top_twin_.assign(problem_.kinds, kNoBlock);
  open_units_.assign(sections, 0);
  std::fill(crossings_.begin(), crossings_.end(), 0);
  raised_.clear();
  placed_.clear();
  candidates_.clear();
  gave_up_ = false;
  for (std::size_t b = 0; b < blocks; ++b) {
    if (fixed_[b]) lowest_[b] = static_cast<Units>(problem_.fixed_units[b]);
    for_sections(static_cast<Block>(b), [&](Section begin, Section end) {
      for (Section s = begin; s < end; ++s) open_units_[static_cast<std::size_t>(s)] += units_[b];
    });
    for (Section s = hull_[b].begin + 1; s < hull_[b].end; ++s) {
      ++crossings_[static_cast<std::size_t>(s)];
    }
  }
}

template <typename Units>
ExactSearch::Outcome Search<Units>::search(std::int64_t capacity_units,
                                           std::span<const std::uint32_t> rank,
                                           std::vector<double>& weights, ExactEffort& effort) {
  if (capacity_units >= kNever / 2) throw std::invalid_argument("[exact] capacity beyond its type");
  reset();
  capacity_ = static_cast<Units>(capacity_units);
  rank_ = rank;
  weights_ = &weights;
  effort_ = &effort;
  if (problem_.highest_fixed_end() > capacity_units) return Outcome::kImpossible;
  for (const Units units : open_units_) {
    if (units > capacity_) return Outcome::kImpossible;
  }
  if (solve_parts({0, problem_.sections, 0, problem_.size()})) return Outcome::kFound;
  return gave_up_ ? Outcome::kGaveUp : Outcome::kImpossible;
}

// False when the effort is spent.
template <typename Units>
bool Search<Units>::may_go_on() {
  if (effort_->failures == 0 || effort_->work == 0 ||
      (++nodes_ % kNodesPerClock == 0 && passed(effort_->deadline))) {
    gave_up_ = true;
  }
  return !gave_up_;
}

// Places all open blocks of the part, or none.
template <typename Units>
bool Search<Units>::solve(const Part& part) {
  const Mark before = mark();
  Decision decision{};
  do {
    if (!may_go_on()) break;
    if (!settle(part, decision)) {
      --effort_->failures;
      break;
    }
    if (try_candidates(part, decision)) return true;
  } while (!gave_up_ && leave_empty(decision.section, decision.level, part));
  undo(before);
  return false;
}

// The same, one by one for each stretch of sections that no open block joins to the next.
template <typename Units>
bool Search<Units>::solve_parts(const Part& part) {
  if (part.open_first == part.open_last) return true;
  if (!rules_.decompose) return solve(part);
  std::size_t open = part.open_first;
  for (Section first = part.first, last; first < part.last; first = last) {
    last = first + 1;
    while (last < part.last && crossings_[static_cast<std::size_t>(last)] > 0) ++last;
    if (first == part.first && last == part.last) return solve(part);
    const auto rest =
        std::partition(open_.begin() + static_cast<std::ptrdiff_t>(open),
                       open_.begin() + static_cast<std::ptrdiff_t>(part.open_last),
                       [&](Block b) { return hull_[static_cast<std::size_t>(b)].begin < last; });
    const auto open_last = static_cast<std::size_t>(rest - open_.begin());
    if (open_last > open && !solve({first, last, open, open_last})) return false;
    open = open_last;
  }
  return true;
}

// Draws all conclusions that need no choice; false when there is no packing. Else says what to
// decide.
template <typename Units>
bool Search<Units>::settle(const Part& part, Decision& decision) {
  for (bool moved = true; moved;) {
    const std::size_t open = part.open_last - part.open_first;
    effort_->work -= std::min<std::uint64_t>(effort_->work, open);
    Units level = 0;
    if (!measure(part, level) || !choose(part, level, decision, moved)) return false;
  }
  return true;
}

// The floor of every section, and the lowest of them: the level. False when a bound is broken.
template <typename Units>
bool Search<Units>::measure(const Part& part, Units& level) {
  const auto first = static_cast<std::size_t>(part.first);
  const auto last = static_cast<std::size_t>(part.last);
  lowest_here_.clear(first, last);
  Units lowest_end = kNever;  // were each block placed where it is supported
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto b = static_cast<std::size_t>(open_[k]);
    for (std::uint32_t p = problem_.first_part[b]; p < problem_.first_part[b + 1]; ++p) {
      lowest_here_.note(p, lowest_[b]);
    }
    if (!fixed_[b])
      lowest_end = std::min(lowest_end, static_cast<Units>(supported_[b] + units_[b]));
  }
  const Units* floor = floor_ = lowest_here_.row(first, last);
  level = kNever;
  bool broken = false;
  const Units* open_units = open_units_.data();
  for (Section s = part.first; s < part.last; ++s) {
    level = std::min(level, floor[s]);
    broken |= open_units[s] > 0 && floor[s] + open_units[s] > capacity_;
  }
  if (!broken) return !rules_.jump_down || lowest_end > level;
  for (Section s = part.first; s < part.last; ++s) {
    if (open_units[s] > 0 && floor[s] + open_units[s] > capacity_) {
      (*weights_)[static_cast<std::size_t>(s)] += 1;
    }
  }
  return false;
}

// The section of the level with the least to choose from. One without candidates is left empty at
// once; then `moved` is true and nothing is chosen. False when that breaks a bound.
template <typename Units>
bool Search<Units>::choose(const Part& part, Units level, Decision& decision, bool& moved) {
  constexpr double kForced = -1e9;  // at most one choice: before all others
  std::int32_t* here = candidates_here_.data();
  std::fill(here + part.first, here + part.last + 1, 0);
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    if (!is_candidate(open_[k], level)) continue;
    for_sections(open_[k], [&](Section begin, Section end) {
      ++here[begin];
      --here[end];
    });
  }
  moved = false;
  double least = std::numeric_limits<double>::max();
  Units least_slack = 0;
  std::int32_t candidates = 0;
  for (Section s = part.first; s < part.last; ++s) {
    candidates += here[s];
    const auto section = static_cast<std::size_t>(s);
    if (floor_[section] != level) continue;
    const Units slack = capacity_ - level - open_units_[section];
    if (candidates == 0) {
      moved = true;
      if (slack == 0) (*weights_)[section] += 1;
      return slack > 0 && leave_empty(s, level, part);
    }
    const int choices = candidates + (slack > 0);
    const double weight = rules_.weigh ? (*weights_)[section] : 0.0;
    const double score = choices <= 1 ? kForced + choices : choices / (1 + weight);
    if (score > least || (score == least && slack >= least_slack)) continue;
    least = score;
    least_slack = slack;
    decision = {s, level};
  }
  return true;
}

// Places each candidate in turn, by rank, and solves the rest.
template <typename Units>
bool Search<Units>::try_candidates(const Part& part, const Decision& decision) {
  const std::size_t first = candidates_.size();
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const Block b = open_[k];
    if (is_candidate(b, decision.level) && covers(b, decision.section)) candidates_.push_back(b);
  }
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
            [this](Block a, Block b) {
              return rank_[static_cast<std::size_t>(a)] < rank_[static_cast<std::size_t>(b)];
            });
  const std::size_t last = candidates_.size();
  const Mark before = mark();
  Part rest = part;
  --rest.open_last;
  bool found = false;
  for (std::size_t c = first; c < last && !found && !gave_up_; ++c) {
    if (rules_.twins && is_repetition(first, c, decision.level)) continue;
    const Block block = candidates_[c];
    std::size_t k = part.open_first;
    while (open_[k] != block) ++k;
    std::swap(open_[k], open_[rest.open_last]);
    found = place(block, decision.level, rest) && solve_parts(rest);
    if (!found) undo(before);
  }
  candidates_.resize(first);
  return found;
}

// Whether another order of blocks in use at the same time says the same: this one on top of a twin
// of higher rank, or in place of a twin of the same size that was tried.
template <typename Units>
bool Search<Units>::is_repetition(std::size_t first, std::size_t position, Units level) const {
  const auto block = static_cast<std::size_t>(candidates_[position]);
  const Block below = top_twin_[problem_.kind[block]];
  if (below != kNoBlock) {
    const auto b = static_cast<std::size_t>(below);
    if (offset_[b] + units_[b] == level && rank_[b] > rank_[block]) return true;
  }
  for (std::size_t c = first; c < position; ++c) {
    const auto tried = static_cast<std::size_t>(candidates_[c]);
    if (problem_.kind[tried] == problem_.kind[block] && units_[tried] == units_[block]) return true;
  }
  return false;
}

// False when a fixed block is in the way; undo() then takes it back all the same.
template <typename Units>
bool Search<Units>::place(Block block, Units offset, const Part& part) {
  const auto b = static_cast<std::size_t>(block);
  const Units end = offset + units_[b];
  offset_[b] = offset;
  Block& top_twin = top_twin_[problem_.kind[b]];
  placed_.push_back({block, top_twin});
  top_twin = block;
  for_sections(block, [&](Section from, Section to) {
    for (Section s = from; s < to; ++s) open_units_[static_cast<std::size_t>(s)] -= units_[b];
  });
  for (Section s = hull_[b].begin + 1; s < hull_[b].end; ++s) {
    --crossings_[static_cast<std::size_t>(s)];
  }
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto other = static_cast<std::size_t>(open_[k]);
    if (!meet(block, open_[k]) || supported_[other] >= end) continue;
    raised_.push_back({open_[k], lowest_[other], supported_[other]});
    supported_[other] = end;
    if (lowest_[other] >= end) continue;
    if (fixed_[other]) return false;
    lowest_[other] = end;
  }
  return true;
}

// No block begins at the level in this section: raises those that could. False when one of them
// then has no place.
template <typename Units>
bool Search<Units>::leave_empty(Section section, Units level, const Part& part) {
  const std::size_t first = candidates_.size();
  bool possible = true;
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto b = static_cast<std::size_t>(open_[k]);
    if (lowest_[b] != level || !covers(open_[k], section)) continue;
    if (fixed_[b]) possible = false;
    raised_.push_back({open_[k], lowest_[b], supported_[b]});
    lowest_[b] = level + 1;
    candidates_.push_back(open_[k]);
  }
  for (std::size_t c = first; c < candidates_.size() && possible; ++c) {
    possible = raise(candidates_[c], level, part);
  }
  candidates_.resize(first);
  return possible;
}

// A block that does not begin where it is supported will lie on one that is still open.
template <typename Units>
bool Search<Units>::raise(Block block, Units level, const Part& part) {
  const auto b = static_cast<std::size_t>(block);
  Units lowest_end = kNever, lowest_begin = kNever;
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const Block other = open_[k];
    if (other == block || !meet(block, other)) continue;
    const Units lowest = lowest_[static_cast<std::size_t>(other)];
    lowest_begin = std::min(lowest_begin, lowest);
    lowest_end =
        std::min(lowest_end, static_cast<Units>(lowest + units_[static_cast<std::size_t>(other)]));
  }
  if (lowest_end == kNever) return false;
  if (rules_.jump_down && supported_[b] == level && lowest_begin >= level + units_[b]) return false;
  lowest_[b] = std::max(lowest_[b], lowest_end);
  return lowest_[b] + units_[b] <= capacity_;
}

template <typename Units>
void Search<Units>::undo(const Mark& to) {
  for (; placed_.size() > to.placed; placed_.pop_back()) {
    const auto b = static_cast<std::size_t>(placed_.back().block);
    top_twin_[problem_.kind[b]] = placed_.back().twin_below;
    for_sections(placed_.back().block, [&](Section from, Section end) {
      for (Section s = from; s < end; ++s) open_units_[static_cast<std::size_t>(s)] += units_[b];
    });
    for (Section s = hull_[b].begin + 1; s < hull_[b].end; ++s) {
      ++crossings_[static_cast<std::size_t>(s)];
    }
  }
  for (; raised_.size() > to.raised; raised_.pop_back()) {
    const auto b = static_cast<std::size_t>(raised_.back().block);
    lowest_[b] = raised_.back().lowest;
    supported_[b] = raised_.back().supported;
  }
}

template <typename Units>
bool Search<Units>::covers(Block block, Section section) const {
  bool found = false;
  for_sections(block,
               [&](Section begin, Section end) { found |= begin <= section && section < end; });
  return found;
}

template <typename Units>
bool Search<Units>::meet(Block a, Block b) const {
  const auto& hull_a = hull_[static_cast<std::size_t>(a)];
  const auto& hull_b = hull_[static_cast<std::size_t>(b)];
  if (hull_a.begin >= hull_b.end || hull_b.begin >= hull_a.end) return false;
  if (!problem_.has_gaps) return true;
  bool found = false;
  for_sections(a, [&](Section begin_a, Section end_a) {
    for_sections(
        b, [&](Section begin_b, Section end_b) { found |= begin_a < end_b && begin_b < end_a; });
  });
  return found;
}

}  // namespace

std::unique_ptr<ExactSearch> ExactSearch::make(const ExactProblem& problem, std::int64_t most_units,
                                               const ExactRules& rules) {
  if (most_units < std::numeric_limits<std::int32_t>::max() / 4) {
    return std::make_unique<Search<std::int32_t>>(problem, rules);
  }
  return std::make_unique<Search<std::int64_t>>(problem, rules);
}

}  // namespace skyline
