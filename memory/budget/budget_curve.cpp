#include "memory/budget/budget_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <set>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_fit.h"

namespace skyline {
namespace {

constexpr std::uint32_t kBudgets = 20, kRounds = 8, kWanders = 8;
constexpr std::size_t kSteps = 8000;  // of a wander; fewer for small problems
// A gap to the bound that is worth a wander, as a share of the step's seconds.
constexpr double kFar = 0.01;
// Seconds this close above the bound are good enough.
constexpr double kNearBound = 1.02;
// Ops that the walks of one search may run, and those of several together, half as many again with
// engines; and the shares of these after which the rounds, and the search between blocks, stop.
constexpr std::uint64_t kMostWork = 32'000'000, kMostOfAll = 40'000'000;
constexpr double kRoundsShare = 0.9, kBlocksShare = 0.7;
// Budgets below the fewest bytes that were found are halved until this share of all bytes is left.
constexpr double kFine = 1.0 / 32;

// 1/2, 1/4, 3/4, 1/8 … for 1, 2, 3, 4 …: ever finer, spread evenly (van der Corput 1935).
double spread(std::uint32_t number) {
  double share = 0, part = 1;
  for (; number > 0; number /= 2) share += (number % 2) * (part /= 2);
  return share;
}

// Returns the recomputes of the values through which all that comes later in forward passes, in the
// program's sequence: those between the blocks of a network.
std::vector<std::uint32_t> recomputes_between_blocks(const BudgetProblem& problem) {
  const StepGraph& graph = problem.graph;
  const RecomputeSequence sequence(problem);
  const auto recomputes = [&](const std::vector<ValueId>& values) {
    std::vector<std::uint32_t> found;
    for (const ValueId value : values) {
      const std::uint32_t recompute = sequence.recompute_of(value);
      if (recompute != RecomputeSequence::kNoRecompute) found.push_back(recompute);
    }
    return found;
  };
  std::vector<std::uint32_t> readers_left(problem.recomputes.size());
  for (OpId op = 0; op < problem.backward; ++op) {
    for (const std::uint32_t read : recomputes(graph.ops[op].inputs)) ++readers_left[read];
  }
  std::vector<std::uint32_t> between;
  std::set<std::uint32_t> alive;
  for (OpId op = 0; op < problem.backward; ++op) {
    for (const std::uint32_t written : recomputes(graph.ops[op].outputs)) {
      if (readers_left[written] > 0) alive.insert(written);
    }
    for (const std::uint32_t read : recomputes(graph.ops[op].inputs)) {
      if (--readers_left[read] == 0) alive.erase(read);
    }
    if (alive.size() != 1) continue;
    if (between.empty() || between.back() != *alive.begin()) between.push_back(*alive.begin());
  }
  return between;
}

class CurveSearch {
 public:
  CurveSearch(const BudgetProblem& problem, BudgetBound& bound, std::uint64_t most_work)
      : problem_(problem), bound_(bound), fit_(problem, front_), most_work_(most_work) {}

  std::vector<BudgetPoint> run() {
    fit_.add(RecomputeChoice(problem_.recomputes.size()));
    const std::uint64_t most = front_.points().front().peak, least = bound_.least_bytes();
    if (least >= most) return front_.points();
    most_ = most;
    least_ = least;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      improve_known(round);
      find_smaller(round);
      if (round == 0) keep_between_blocks();
    }
    wander();
    return front_.points();
  }

 private:
  // Returns a budget between the step's peak (0) and the fewest bytes (kBudgets).
  std::uint64_t budget(double number) const {
    return most_ -
           static_cast<std::uint64_t>(number / kBudgets * static_cast<double>(most_ - least_));
  }

  std::uint64_t budget_of_round(std::uint32_t round, std::uint32_t k) const {
    return budget(k + 1 - spread(round));
  }

  static BudgetFit::Measure measure_of(std::uint32_t round) {
    return round % 2 == 0 ? BudgetFit::Measure::kSquares : BudgetFit::Measure::kPeak;
  }

  // The fewest bytes first: their steps are the farthest from their bounds.
  void improve_known(std::uint32_t round) {
    for (std::uint32_t k = kBudgets; k-- > 0;) {
      const std::uint64_t bytes = budget_of_round(round, k);
      if (front_.within(bytes) != nullptr) improve(bytes, measure_of(round));
    }
  }

  // Stops where no step is found: fewer bytes are hopeless, too, and would take the time of others.
  void find_smaller(std::uint32_t round) {
    for (std::uint32_t k = 0; k < kBudgets; ++k) {
      const std::uint64_t bytes = budget_of_round(round, k);
      if (front_.within(bytes) != nullptr) continue;
      if (!improve(bytes, measure_of(round), round > 0)) return;
    }
  }

  bool spent(double share) const {
    return static_cast<double>(fit_.ops_run()) >= share * static_cast<double>(most_work_);
  }

  // Looks for steps of fewer bytes than the rounds found: keeps a value between every few blocks,
  // and recomputes all others. A chain of n equal blocks needs the fewest bytes if about √n values
  // are kept (Chen, Xu, Zhang, Guestrin 2016, "Training deep nets with sublinear memory cost").
  void keep_between_blocks() {
    const std::vector<std::uint32_t> between = recomputes_between_blocks(problem_);
    const auto every = static_cast<std::size_t>(std::lround(std::sqrt(between.size())));
    if (every < 2) return;
    RecomputeChoice start(problem_.recomputes.size(), Recompute::kOnce);
    for (std::size_t k = 0; k < between.size(); k += every) start[between[k]] = Recompute::kNever;
    fit_.add(start);
    const auto fine = static_cast<std::uint64_t>(kFine * static_cast<double>(most_));
    std::uint64_t low = least_, high = front_.points().back().peak;
    while (high - low > fine && !spent(kBlocksShare)) {
      const std::uint64_t bytes = low + (high - low) / 2;
      RecomputeChoice choice = fit_.fit(start, bytes, std::numeric_limits<double>::infinity(),
                                        BudgetFit::Measure::kSquares);
      if (!choice.empty()) fit_.take_back(choice, bytes);
      (choice.empty() ? low : high) = bytes;
    }
  }

  // Spends what work is left on the budgets that are farthest from their bounds.
  void wander() {
    const std::size_t recomputes = problem_.recomputes.size();
    const auto steps = static_cast<std::uint32_t>(std::min(kSteps, 4 * recomputes * recomputes));
    const std::uint64_t work = steps * problem_.graph.ops.size();
    if (fit_.ops_run() + work > most_work_) return;
    std::vector<double> bounds;
    for (std::uint32_t k = 0; k < kBudgets; ++k) {
      bounds.push_back(bound_.proof(budget(k)).extra_seconds);
    }
    std::vector<std::uint32_t> times(kBudgets);
    const auto far = [&](std::uint32_t k) {
      const BudgetPoint* point = front_.within(budget(k));
      return point == nullptr || point->extra_seconds <= bounds[k] + kFar * fit_.seconds()
                 ? 0
                 : (point->extra_seconds - bounds[k]) / (1 + times[k]);
    };
    const auto budgets = std::views::iota(0u, kBudgets);
    for (std::uint32_t wander = 0; wander < kWanders && fit_.ops_run() + work <= most_work_;
         ++wander) {
      const std::uint32_t k = *std::ranges::max_element(budgets, {}, far);
      if (far(k) == 0) return;
      fit_.wander(RecomputeChoice(front_.within(budget(k))->choice), budget(k), steps);
      ++times[k];
    }
  }

  // Begins with the proof's recomputes, then with the neighbours while the bound is far.
  // If all that fails and `all_again`, begins with everything recomputed. Returns whether a step
  // fits.
  bool improve(std::uint64_t bytes, BudgetFit::Measure measure, bool all_again = false) {
    const BudgetBound::Proof proof = bound_.proof(bytes);
    double best = std::numeric_limits<double>::infinity();
    const auto try_from = [&](const RecomputeChoice& start) {
      if (spent(kRoundsShare) || best <= kNearBound * proof.extra_seconds) return;
      for (const auto engines : {BudgetFit::Engines::kOwn, BudgetFit::Engines::kFitting}) {
        if (engines == BudgetFit::Engines::kOwn && problem_.engines.empty()) continue;
        RecomputeChoice choice = fit_.fit(start, bytes, best, measure, engines);
        if (!choice.empty()) best = std::min(best, fit_.take_back(choice, bytes));
      }
    };
    if (!proof.recomputed.empty()) try_from(proof.recomputed);
    const BudgetPoint* within = front_.within(bytes);
    if (within != nullptr) try_from(RecomputeChoice(within->choice));
    const BudgetPoint* beyond = front_.beyond(bytes);
    if (beyond != nullptr) try_from(RecomputeChoice(beyond->choice));
    if (all_again && front_.within(bytes) == nullptr) {
      try_from(RecomputeChoice(problem_.recomputes.size(), Recompute::kOnce));
      if (problem_.recomputes_each)
        try_from(RecomputeChoice(problem_.recomputes.size(), Recompute::kEach));
    }
    return front_.within(bytes) != nullptr;
  }

  const BudgetProblem& problem_;
  BudgetBound& bound_;
  BudgetFront front_;
  BudgetFit fit_;
  std::uint64_t most_work_, most_ = 0, least_ = 0;
};

}  // namespace

std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem, BudgetBound& bound,
                                      std::size_t searches) {
  const std::uint64_t work = std::min(kMostWork, kMostOfAll / searches);
  return CurveSearch(problem, bound, problem.engines.empty() ? work : work * 3 / 2).run();
}

std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem) {
  BudgetBound bound(problem);
  return budget_curve(problem, bound);
}

const BudgetPoint* point_within(const std::vector<BudgetPoint>& curve, std::uint64_t bytes) {
  for (const BudgetPoint& point : curve) {
    if (point.peak <= bytes) return &point;
  }
  return nullptr;
}

}  // namespace skyline
