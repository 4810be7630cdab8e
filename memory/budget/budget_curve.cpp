#include "memory/budget/budget_curve.h"

#include <limits>

#include "memory/budget/budget_fit.h"

namespace skyline {
namespace {

constexpr std::uint32_t kBudgets = 20, kRounds = 8;
// Seconds this close above the bound are good enough.
constexpr double kNearBound = 1.02;
// Ops that walks may run.
constexpr std::uint64_t kMostWork = 28'000'000;  // half as much again with engines

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
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      for (std::uint32_t k = 0; k < kBudgets; ++k) {
        const double share = (k + 1 - spread(round)) / kBudgets;
        improve(most - static_cast<std::uint64_t>(share * static_cast<double>(most - least)),
                round % 2 == 0 ? BudgetFit::Measure::kPeak : BudgetFit::Measure::kSquares);
      }
    }
    return front_.points();
  }

 private:
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
  std::uint64_t most_work_;
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
