#include "memory/planners/exact/exact_search.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "memory/planners/exact/exact_state.h"

namespace skyline {
namespace {

constexpr std::uint64_t kNodesPerClock = 64;

template <typename Units>
class Search final : public ExactSearch {
 public:
  Search(const ExactProblem& problem, const ExactRules& rules);

  Outcome search(std::int64_t capacity_units, std::span<const std::uint32_t> rank,
                 std::vector<double>& weights, ExactEffort& effort) override;
  std::int64_t offset_units(std::size_t block) const override { return state_.offset[block]; }

 private:
  using State = ExactState<Units>;
  using Block = typename State::Block;
  using Section = typename State::Section;
  using Part = typename State::Part;
  static constexpr Units kNever = RangeMinimum<Units>::kNone;

  struct Decision {
    Section section;
    Units level;
  };

  bool may_go_on();
  bool solve(const Part& part);
  bool solve_parts(const Part& part);
  bool settle(const Part& part, Decision& decision);
  bool measure(const Part& part, Units& level);
  void find_valleys(const Part& part, Units level);
  bool choose(const Part& part, Decision& decision, bool& moved);
  bool try_candidates(const Part& part, const Decision& decision);
  bool is_repetition(std::size_t first, std::size_t position, Units level) const;
  bool leave_empty(Section section, Units level, const Part& part);
  bool raise_open(Block block, Units level, const Part& part);

  const ExactProblem& problem_;
  const ExactRules rules_;
  State state_;
  Units capacity_ = 0;
  std::span<const std::uint32_t> rank_;
  std::vector<double>* weights_ = nullptr;
  ExactEffort* effort_ = nullptr;
  std::uint64_t nodes_ = 0;
  bool gave_up_ = false;

  std::vector<Block> candidates_;  // a stack
  // Valid within settle():
  RangeMinimum<Units> lowest_here_;
  const Units* floor_ = nullptr;               // by section: the least `lowest` of its open blocks
  std::vector<char> valley_;                   // by section
  std::vector<std::int32_t> candidates_here_;  // change from the section before
};

template <typename Units>
Search<Units>::Search(const ExactProblem& problem, const ExactRules& rules)
    : problem_(problem),
      rules_(rules),
      state_(problem),
      lowest_here_(static_cast<std::size_t>(problem.sections), problem.parts),
      valley_(static_cast<std::size_t>(problem.sections)),
      candidates_here_(static_cast<std::size_t>(problem.sections) + 1) {}

template <typename Units>
ExactSearch::Outcome Search<Units>::search(std::int64_t capacity_units,
                                           std::span<const std::uint32_t> rank,
                                           std::vector<double>& weights, ExactEffort& effort) {
  if (capacity_units >= kNever / 2) throw std::invalid_argument("[exact] capacity beyond its type");
  state_.reset();
  candidates_.clear();
  gave_up_ = false;
  capacity_ = static_cast<Units>(capacity_units);
  rank_ = rank;
  weights_ = &weights;
  effort_ = &effort;
  if (problem_.highest_fixed_end() > capacity_units) return Outcome::kImpossible;
  for (const Units units : state_.open_units) {
    if (units > capacity_ + state_.slack) return Outcome::kImpossible;
  }
  if (solve_parts({0, problem_.sections, 0, problem_.size()})) return Outcome::kFound;
  return gave_up_ ? Outcome::kGaveUp : Outcome::kImpossible;
}

// Returns false if the effort is spent.
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
  const auto before = state_.mark();
  Decision decision{};
  do {
    if (!may_go_on()) break;
    if (!settle(part, decision)) {
      --effort_->failures;
      break;
    }
    if (try_candidates(part, decision)) return true;
  } while (!gave_up_ && leave_empty(decision.section, decision.level, part));
  state_.undo(before);
  return false;
}

// Solves each run of sections that no open block joins to the next.
template <typename Units>
bool Search<Units>::solve_parts(const Part& part) {
  if (part.open_first == part.open_last) return true;
  if (!rules_.decompose) return solve(part);
  std::size_t open = part.open_first;
  for (Section first = part.first, last; first < part.last; first = last) {
    last = first + 1;
    while (last < part.last && state_.crossings[static_cast<std::size_t>(last)] > 0) ++last;
    if (first == part.first && last == part.last) return solve(part);
    const auto rest = std::partition(
        state_.open.begin() + static_cast<std::ptrdiff_t>(open),
        state_.open.begin() + static_cast<std::ptrdiff_t>(part.open_last),
        [&](Block b) { return problem_.hull[static_cast<std::size_t>(b)].begin < last; });
    const auto open_last = static_cast<std::size_t>(rest - state_.open.begin());
    if (open_last > open && !solve({first, last, open, open_last})) return false;
    open = open_last;
  }
  return true;
}

// Draws all conclusions that need no choice. Returns false if there is no packing, else the next
// decision.
template <typename Units>
bool Search<Units>::settle(const Part& part, Decision& decision) {
  for (bool moved = true; moved;) {
    const std::size_t open = part.open_last - part.open_first;
    effort_->work -= std::min<std::uint64_t>(effort_->work, open);
    Units level = 0;
    if (!measure(part, level)) return false;
    find_valleys(part, level);
    if (!choose(part, decision, moved)) return false;
  }
  return true;
}

// Computes the floor of each section and the lowest floor, the level. Returns false if a bound is
// broken.
template <typename Units>
bool Search<Units>::measure(const Part& part, Units& level) {
  const auto first = static_cast<std::size_t>(part.first);
  const auto last = static_cast<std::size_t>(part.last);
  lowest_here_.clear(first, last);
  Units lowest_end = kNever;  // if each block were placed where it is supported
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto b = static_cast<std::size_t>(state_.open[k]);
    for (std::uint32_t p = problem_.first_part[b]; p < problem_.first_part[b + 1]; ++p) {
      lowest_here_.note(p, state_.lowest[b]);
    }
    // The sums below leave room for the slack of the highest block, which may be another.
    if (state_.slack > 0 && state_.lowest[b] + state_.units[b] > capacity_) return false;
    if (!state_.fixed[b])
      lowest_end = std::min(lowest_end, static_cast<Units>(state_.supported[b] + state_.units[b]));
  }
  const Units* floor = floor_ = lowest_here_.row(first, last);
  level = kNever;
  const Units room = capacity_ + state_.slack;
  bool broken = false;
  const Units* open_units = state_.open_units.data();
  for (Section s = part.first; s < part.last; ++s) {
    level = std::min(level, floor[s]);
    broken |= open_units[s] > 0 && floor[s] + open_units[s] > room;
  }
  if (!broken) return !rules_.jump_down || lowest_end > level;
  for (Section s = part.first; s < part.last; ++s) {
    if (open_units[s] > 0 && floor[s] + open_units[s] > room) {
      (*weights_)[static_cast<std::size_t>(s)] += 1;
    }
  }
  return false;
}

// Marks the sections of each valley: a run of equal floors between higher ones. No open block that
// may begin at the floor of a valley leaves it, so none that it meets can still come below it. With
// gaps, a block has parts elsewhere, and only the lowest level will do.
template <typename Units>
void Search<Units>::find_valleys(const Part& part, Units level) {
  const bool all = rules_.valleys && !problem_.has_gaps;
  const auto last = static_cast<std::size_t>(part.last);
  for (std::size_t first = static_cast<std::size_t>(part.first), end; first < last; first = end) {
    end = first + 1;
    while (end < last && floor_[end] == floor_[first]) ++end;
    const bool is_lower =
        (first == static_cast<std::size_t>(part.first) || floor_[first - 1] > floor_[first]) &&
        (end == last || floor_[end] > floor_[first]) && floor_[first] < kNever;
    std::fill(valley_.begin() + static_cast<std::ptrdiff_t>(first),
              valley_.begin() + static_cast<std::ptrdiff_t>(end),
              all ? is_lower : floor_[first] == level);
  }
}

// Chooses the section of all valleys with the fewest choices. A section without candidates is left
// empty at once; then `moved` is true and nothing is chosen. Returns false if that breaks a bound.
template <typename Units>
bool Search<Units>::choose(const Part& part, Decision& decision, bool& moved) {
  constexpr double kForced = -1e9;  // at most one choice: comes first
  std::int32_t* here = candidates_here_.data();
  std::fill(here + part.first, here + part.last + 1, 0);
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto b = static_cast<std::size_t>(state_.open[k]);
    const auto first = static_cast<std::size_t>(problem_.hull[b].begin);
    if (!valley_[first] || !state_.is_candidate(state_.open[k], floor_[first])) continue;
    state_.for_sections(state_.open[k], [&](Section begin, Section end) {
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
    if (!valley_[section]) continue;
    const Units level = floor_[section];
    const Units slack = capacity_ + state_.slack - level - state_.open_units[section];
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
    const Block b = state_.open[k];
    if (state_.is_candidate(b, decision.level) && state_.covers(b, decision.section))
      candidates_.push_back(b);
  }
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
            [this](Block a, Block b) {
              return rank_[static_cast<std::size_t>(a)] < rank_[static_cast<std::size_t>(b)];
            });
  const std::size_t last = candidates_.size();
  const auto before = state_.mark();
  Part rest = part;
  --rest.open_last;
  bool found = false;
  for (std::size_t c = first; c < last && !found && !gave_up_; ++c) {
    if (rules_.twins && is_repetition(first, c, decision.level)) continue;
    const Block block = candidates_[c];
    std::size_t k = part.open_first;
    while (state_.open[k] != block) ++k;
    std::swap(state_.open[k], state_.open[rest.open_last]);
    found = state_.place(block, decision.level, rest) && solve_parts(rest);
    if (!found) state_.undo(before);
  }
  candidates_.resize(first);
  return found;
}

// True if another order of twins (blocks in use at the same time) gives the same packing: this
// block lies on a twin of higher rank, or replaces a twin of the same size that was tried.
template <typename Units>
bool Search<Units>::is_repetition(std::size_t first, std::size_t position, Units level) const {
  const auto block = static_cast<std::size_t>(candidates_[position]);
  const Block below = state_.top_twin[problem_.kind[block]];
  if (below != State::kNoBlock) {
    const auto b = static_cast<std::size_t>(below);
    if (state_.offset[b] + state_.units[b] == level && rank_[b] > rank_[block]) return true;
  }
  for (std::size_t c = first; c < position; ++c) {
    const auto tried = static_cast<std::size_t>(candidates_[c]);
    if (problem_.kind[tried] == problem_.kind[block] && state_.units[tried] == state_.units[block])
      return true;
  }
  return false;
}

// Lets no block begin at the level in this section, and raises those that could. Returns false if
// one of them then has no place.
template <typename Units>
bool Search<Units>::leave_empty(Section section, Units level, const Part& part) {
  const std::size_t first = candidates_.size();
  bool possible = true;
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const Block block = state_.open[k];
    const auto b = static_cast<std::size_t>(block);
    if (state_.lowest[b] != level || !state_.covers(block, section)) continue;
    if (state_.fixed[b]) possible = false;
    state_.raise(block, state_.aligned(level + 1, b));
    candidates_.push_back(block);
  }
  for (std::size_t c = first; c < candidates_.size() && possible; ++c) {
    possible = raise_open(candidates_[c], level, part);
  }
  candidates_.resize(first);
  return possible;
}

// Raises a block that does not begin where it is supported: it will lie on a block still open.
template <typename Units>
bool Search<Units>::raise_open(Block block, Units level, const Part& part) {
  const auto b = static_cast<std::size_t>(block);
  Units lowest_end = kNever, lowest_begin = kNever;
  for (std::size_t k = part.open_first; k < part.open_last; ++k) {
    const auto other = static_cast<std::size_t>(state_.open[k]);
    if (other == b || !state_.meet(block, state_.open[k])) continue;
    const Units begin = state_.lowest[other];
    lowest_begin = std::min(lowest_begin, begin);
    lowest_end = std::min(lowest_end, static_cast<Units>(begin + state_.units[other]));
  }
  if (lowest_end == kNever) return false;
  const Units units = state_.units[b];
  if (rules_.jump_down && state_.supported[b] == level && lowest_begin >= level + units) {
    return false;
  }
  state_.lowest[b] = std::max(state_.lowest[b], state_.aligned(lowest_end, b));
  return state_.lowest[b] + units <= capacity_;
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
