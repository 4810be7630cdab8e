#include "memory/budget/budget_curve.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "memory/budget/budget_fit.h"

namespace skyline {
namespace {

constexpr std::uint32_t kBudgets = 20, kRounds = 8, kWanders = 6;
constexpr std::size_t kSteps = 8000;  // of a wander; fewer for small problems
// A gap to the bound that is worth a wander, as a share of the step's seconds.
constexpr double kFar = 0.01;
// Seconds this close above the bound are good enough.
constexpr double kNearBound = 1.02;
// Ops that walks may run.
constexpr std::uint64_t kMostWork = 20'000'000;  // half as much again with engines

// 1/2, 1/4, 3/4, 1/8 … for 1, 2, 3, 4 …: ever finer, spread evenly (van der Corput 1935).
double spread(std::uint32_t number) {
  double share = 0, part = 1;
  for (; number > 0; number /= 2) share += (number % 2) * (part /= 2);
  return share;
}

class CurveSearch {
 public:
  CurveSearch(const BudgetProblem& problem, BudgetBound& bound)
      : problem_(problem),
        bound_(bound),
        fit_(problem, front_),
        most_work_(problem.engines.empty() ? kMostWork : kMostWork * 3 / 2) {}

  std::vector<BudgetPoint> run() {
    fit_.add(RemakeChoice(problem_.remakes.size()));
    const std::uint64_t most = front_.points().front().peak, least = bound_.least_bytes();
    if (least >= most) return front_.points();
    most_ = most;
    least_ = least;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      for (std::uint32_t k = 0; k < kBudgets; ++k) {
        improve(budget(k + 1 - spread(round)),
                round % 2 == 0 ? BudgetFit::Measure::kSquares : BudgetFit::Measure::kPeak);
      }
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

  // Spends what work is left on the budgets that are farthest from their bounds.
  void wander() {
    const std::size_t remakes = problem_.remakes.size();
    const auto steps = static_cast<std::uint32_t>(std::min(kSteps, 4 * remakes * remakes));
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
      fit_.wander(RemakeChoice(front_.within(budget(k))->choice), budget(k), steps);
      ++times[k];
    }
  }

  // Begins with the proof's remakes, then with the neighbours while the bound is far.
  void improve(std::uint64_t bytes, BudgetFit::Measure measure) {
    const BudgetBound::Proof proof = bound_.proof(bytes);
    double best = std::numeric_limits<double>::infinity();
    const auto try_from = [&](const RemakeChoice& start) {
      if (fit_.ops_run() >= most_work_ || best <= kNearBound * proof.extra_seconds) return;
      for (const auto engines : {BudgetFit::Engines::kOwn, BudgetFit::Engines::kFitting}) {
        if (engines == BudgetFit::Engines::kOwn && problem_.engines.empty()) continue;
        RemakeChoice choice = fit_.fit(start, bytes, best, measure, engines);
        if (!choice.empty()) best = std::min(best, fit_.take_back(choice, bytes));
      }
    };
    if (!proof.remade.empty()) try_from(proof.remade);
    const BudgetPoint* within = front_.within(bytes);
    if (within != nullptr) try_from(RemakeChoice(within->choice));
    const BudgetPoint* beyond = front_.beyond(bytes);
    if (beyond != nullptr) try_from(RemakeChoice(beyond->choice));
    if (front_.within(bytes) == nullptr) {
      try_from(RemakeChoice(problem_.remakes.size(), Remake::kOnce));
      if (problem_.makes_each) try_from(RemakeChoice(problem_.remakes.size(), Remake::kEach));
    }
  }

  const BudgetProblem& problem_;
  BudgetBound& bound_;
  BudgetFront front_;
  BudgetFit fit_;
  std::uint64_t most_work_, most_ = 0, least_ = 0;
};

}  // namespace

std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem, BudgetBound& bound) {
  return CurveSearch(problem, bound).run();
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
