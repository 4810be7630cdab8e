#include "memory/solvers/chain_bound.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "memory/solvers/programs.h"

namespace skyline {
namespace {

constexpr std::size_t kExits = 4, kPromising = 12;
// Another exit is added if it raises the bound by this share.
constexpr double kWorthwhile = 0.002;
// Columns and rows of a program, and of all programs of a proof: some tenths of a second.
constexpr std::size_t kMostSize = 16'000, kMostWork = 110'000;
// A program of two exits is so many times the size of a program of one.
constexpr std::size_t kTimesForTwo = 3;

// Returns `count` elements, evenly spread.
template <typename T>
std::vector<T> spread(const std::vector<T>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<T> some;
  for (std::size_t k = 0; k < count; ++k) some.push_back(all[k * all.size() / count]);
  return some;
}

// The linear program of a chain of exits.
class ChainProgram {
 public:
  // `forced`: by engine, the seconds of those that every step takes.
  ChainProgram(const BudgetProblem& problem, const ExitGraph& graph,
               const std::vector<const ExitGraph::Moment*>& chain, std::uint64_t bytes, double unit,
               const std::vector<double>& forced)
      : problem_(problem),
        graph_(graph),
        chain_(chain),
        bytes_(static_cast<double>(bytes)),
        unit_(unit),
        rooms_(chain.size()) {
    add_engines(forced);
    add_reads();
    add_recomputes();
    for (std::size_t k = 0; k < chain_.size(); ++k) {
      program_.add_row(rooms_[k], 1 - share(chain_[k]->exit_bytes + chain_[k]->engine_bytes));
    }
  }

  std::size_t size() const {
    return static_cast<std::size_t>(program_.columns() + program_.rows());
  }
  double least_seconds() const { return program_.least_cost() * unit_; }

 private:
  using Terms = LinearProgram::Terms;
  // Between two exits of the chain; `end` may be the end of the step.
  struct Between {
    std::size_t first = 0, end = 0;
    std::uint32_t value = 0;
    auto operator<=>(const Between&) const = default;
  };

  double share(std::uint64_t bytes) const { return static_cast<double>(bytes) / bytes_; }

  void add_engines(const std::vector<double>& forced) {
    std::map<std::uint32_t, int> columns;
    for (std::size_t k = 0; k < chain_.size(); ++k) {
      const ExitGraph::Moment& exit = *chain_[k];
      if (exit.engine == ExitGraph::kNone) continue;
      const auto [column, is_new] = columns.try_emplace(exit.engine, program_.columns());
      if (is_new) {
        program_.add_column(forced[exit.engine] > 0 ? 1 : 0, 1, exit.engine_seconds / unit_);
      }
      rooms_[k].push_back({column->second, -share(exit.engine_bytes)});
    }
  }

  void add_reads() {
    for (std::size_t first = 0; first < chain_.size(); ++first) {
      for (std::size_t end = first + 1; end <= chain_.size(); ++end) {
        const std::vector<char> read = read_between(first, end);
        for (std::uint32_t value = 0; value < read.size(); ++value) {
          if (read[value]) add_available({first, end, value}, {}, -1);
        }
      }
    }
  }

  // Marks what is read after an exit and no later than by the other, in every order.
  std::vector<char> read_between(std::size_t first, std::size_t end) const {
    const std::vector<OrderProblem::Op>& ops = graph_.order().ops;
    std::vector<char> read(graph_.order().values.size());
    for (OpId op = 0; op < ops.size(); ++op) {
      const bool runs_before =
          end == chain_.size() || op == chain_[end]->exit || chain_[end]->before[op];
      if (!chain_[first]->after[op] || !runs_before) continue;
      for (const std::uint32_t value : ops[op].inputs) read[value] = true;
    }
    return read;
  }

  // Adds a row: terms ≤ limit + the value is alive at the first exit + it is recomputed before the
  // end. Values that are alive anyway, or that are written later, need no row.
  void add_available(const Between& place, Terms terms, double limit) {
    if (!chain_[place.first]->written[place.value]) return;
    terms.push_back({alive(place.first, place.value), -1});
    if (graph_.recompute_of(place.value) != ExitGraph::kNone) terms.push_back({made(place), -1});
    program_.add_row(terms, limit);
  }

  // Returns the column of a value that is alive at an exit.
  int alive(std::size_t exit, std::uint32_t value) {
    const auto [column, is_new] = alive_.try_emplace({exit, value}, program_.columns());
    if (!is_new) return column->second;
    program_.add_column(0, 1);
    rooms_[exit].push_back({column->second, share(graph_.order().values[value].bytes)});
    return column->second;
  }

  // Returns the column of a value that is recomputed. Only what is between neighbours costs.
  int made(const Between& place) {
    const auto [column, is_new] = made_.try_emplace(place, program_.columns());
    if (!is_new) return column->second;
    const double seconds = problem_.recomputes[graph_.recompute_of(place.value)].seconds;
    program_.add_column(0, 1, place.end == place.first + 1 ? seconds / unit_ : 0);
    open_.push_back(place);
    return column->second;
  }

  // A recompute reads its inputs, and runs between two neighbours.
  void add_recomputes() {
    while (!open_.empty()) {
      const Between place = open_.back();
      open_.pop_back();
      const int column = made(place);
      for (const std::uint32_t input : graph_.recompute_inputs(graph_.recompute_of(place.value))) {
        add_available({place.first, place.end, input}, {{column, 1}}, 0);
      }
      if (place.end == place.first + 1) continue;
      Terms terms = {{column, 1}};
      for (std::size_t k = place.first; k < place.end; ++k) {
        terms.push_back({made({k, k + 1, place.value}), -1});
      }
      program_.add_row(terms, 0);
    }
  }

  const BudgetProblem& problem_;
  const ExitGraph& graph_;
  const std::vector<const ExitGraph::Moment*>& chain_;
  const double bytes_, unit_;
  LinearProgram program_;
  std::vector<Terms> rooms_;  // by exit: the shares of the bytes that are alive
  std::map<std::pair<std::size_t, std::uint32_t>, int> alive_;
  std::map<Between, int> made_;
  std::vector<Between> open_;  // recomputed; their rows are still to add
};

}  // namespace

ChainBound::ChainBound(const BudgetProblem& problem, BudgetBound& bound)
    : problem_(problem), bound_(bound), graph_(bound.graph()) {}

bool ChainBound::reads_recomputed(OpId op, const RecomputeChoice& recomputed) const {
  return std::ranges::any_of(graph_.order().ops[op].inputs, [&](std::uint32_t value) {
    const std::uint32_t recompute = graph_.recompute_of(value);
    return recompute != ExitGraph::kNone && recomputed[recompute] != Recompute::kNever;
  });
}

// Returns the exits that may raise the bound: something was recomputed for them, something must be
// recomputed after them, and they run before or after the first in every order.
std::vector<ChainBound::Exit> ChainBound::candidates(const BudgetBound::Proof& first,
                                                     std::uint64_t bytes) const {
  const ExitGraph::Moment at_first = graph_.moment_of(first.exit);
  std::vector<Exit> found;
  for (OpId op = problem_.backward; op < graph_.order().ops.size(); ++op) {
    const bool comparable = at_first.before[op] || at_first.after[op];
    if (!comparable || !reads_recomputed(op, first.recomputed)) continue;
    Exit exit = graph_.moment_of(op);
    std::uint64_t all_kept = exit.exit_bytes + exit.engine_bytes;
    for (const std::uint32_t value : exit.needed) all_kept += graph_.order().values[value].bytes;
    if (all_kept > bytes) found.push_back(std::move(exit));
  }
  return found;
}

// Whether an exit runs before or after each of a chain in every order.
bool ChainBound::extends(const Chain& chain, const Exit& exit) {
  return std::ranges::all_of(chain, [&exit](const Exit* other) {
    return exit.before[other->exit] || exit.after[other->exit];
  });
}

// Descendants have greater numbers.
ChainBound::Chain ChainBound::with(Chain chain, const Exit& exit) {
  chain.insert(std::ranges::upper_bound(chain, exit.exit, {}, &Exit::exit), &exit);
  return chain;
}

// Returns what the exits of a chain prove together; 0 if that would take too long. `unit`: seconds
// of about the size of the answer.
double ChainBound::least_seconds(const Chain& chain, std::uint64_t bytes, double unit) {
  if (work_ > kMostWork) return 0;
  std::vector<double> forced = bound_.forced_seconds(bytes);
  const ChainProgram program(problem_, graph_, chain, bytes, unit, forced);
  work_ += program.size();
  if (program.size() > kMostSize) return 0;
  for (const Exit* exit : chain) {
    if (exit->engine != ExitGraph::kNone) forced[exit->engine] = 0;  // the program counts them
  }
  double seconds = program.least_seconds();
  for (const double besides : forced) seconds += besides;
  return seconds;
}

ChainBound::Proof ChainBound::proof(std::uint64_t bytes, double enough) {
  const BudgetBound::Proof first = bound_.proof(bytes);
  Proof best{first.extra_seconds, {first.exit}};
  if (first.recomputed.empty()) return best;
  const Exit start = graph_.moment_of(first.exit);
  const std::vector<Exit> exits = candidates(first, bytes);
  Chain chain = {&start}, open;
  for (const Exit& exit : exits) open.push_back(&exit);
  work_ = 0;
  while (chain.size() < kExits && best.extra_seconds < enough) {
    // Half of the work is for the second exit.
    if (chain.size() == 1) {
      least_seconds(chain, bytes, first.extra_seconds);
      open = spread(open, kMostWork / 2 / (kTimesForTwo * work_));
    }
    std::vector<std::pair<double, const Exit*>> helpful;
    for (const Exit* exit : open) {
      if (!extends(chain, *exit)) continue;
      const double seconds = least_seconds(with(chain, *exit), bytes, first.extra_seconds);
      if (seconds > best.extra_seconds * (1 + kWorthwhile)) helpful.push_back({seconds, exit});
    }
    if (helpful.empty()) break;
    std::ranges::stable_sort(helpful, std::ranges::greater(),
                             &std::pair<double, const Exit*>::first);
    best.extra_seconds = helpful.front().first;
    chain = with(chain, *helpful.front().second);
    open.clear();
    for (const auto& [seconds, exit] :
         helpful | std::views::drop(1) | std::views::take(kPromising)) {
      open.push_back(exit);
    }
  }
  best.exits.clear();
  for (const Exit* exit : chain) best.exits.push_back(exit->exit);
  return best;
}

}  // namespace skyline
