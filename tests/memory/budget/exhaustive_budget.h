#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "memory/budget/budget_walk.h"

namespace skyline {

// The fewest seconds of all choices, by trying each one: a reference for up to a dozen recomputes.
class ExhaustiveBudget {
 public:
  explicit ExhaustiveBudget(const BudgetProblem& problem) {
    for (unsigned smaller = 0; smaller < 1u << problem.engines.size(); ++smaller) {
      try_choices(problem, smaller);
    }
  }

  // Of the steps of all choices: the seconds by peak. Not all of them are best within their peak.
  const std::map<std::uint64_t, double>& points() const { return seconds_; }

  // Infinity if no step fits.
  double extra_seconds(std::uint64_t bytes) const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [peak, seconds] : seconds_) {
      if (peak <= bytes) least = std::min(least, seconds);
    }
    return least;
  }

 private:
  // The smaller engines of these bits compute.
  void try_choices(BudgetProblem problem, unsigned smaller) {
    double slower = 0;
    for (std::size_t k = 0; k < problem.engines.size(); ++k) {
      if ((smaller >> k & 1) == 0) continue;
      for (const SmallerEngine::Use& use : problem.engines[k].uses) {
        if (use.op.is_recompute) {
          problem.recomputes[use.op.index].workspace_bytes = use.workspace_bytes;
          problem.recomputes[use.op.index].seconds += use.extra_seconds;
        } else {
          problem.graph.ops[use.op.index].workspace_bytes = use.workspace_bytes;
          slower += use.extra_seconds;
        }
      }
    }
    problem.engines.clear();
    BudgetWalk walk(problem);
    RecomputeChoice choice(problem.recomputes.size());
    const Recompute::Times most = problem.recomputes_later  ? Recompute::kLater
                                  : problem.recomputes_each ? Recompute::kEach
                                                            : Recompute::kOnce;
    do {
      const BudgetWalk::Result result = walk.run(choice);
      const double seconds = slower + result.extra_seconds;
      const auto point = seconds_.try_emplace(result.peak, seconds).first;
      point->second = std::min(point->second, seconds);
    } while (next(choice, most));
  }

  // Counts as a number of as many digits.
  static bool next(RecomputeChoice& choice, Recompute::Times most) {
    for (Recompute::Times& times : choice) {
      if (times < most) {
        times = static_cast<Recompute::Times>(times + 1);
        return true;
      }
      times = Recompute::kNever;
    }
    return false;
  }

  std::map<std::uint64_t, double> seconds_;
};

}  // namespace skyline
