#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "memory/budget/budget_walk.h"

namespace skyline {

// The fewest seconds of all choices, by trying each one: a reference for up to a dozen remakes.
class ExhaustiveBudget {
 public:
  explicit ExhaustiveBudget(const BudgetProblem& problem) {
    BudgetWalk walk(problem);
    RemakeChoice choice(problem.remakes.size());
    const Remake::Times most = problem.makes_each ? Remake::kEach : Remake::kOnce;
    do {
      const BudgetWalk::Result result = walk.run(choice);
      const auto point = seconds_.try_emplace(result.peak, result.extra_seconds).first;
      point->second = std::min(point->second, result.extra_seconds);
    } while (next(choice, most));
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
  // Counts as a number of as many digits.
  static bool next(RemakeChoice& choice, Remake::Times most) {
    for (Remake::Times& times : choice) {
      if (times < most) {
        times = static_cast<Remake::Times>(times + 1);
        return true;
      }
      times = Remake::kNever;
    }
    return false;
  }

  std::map<std::uint64_t, double> seconds_;
};

}  // namespace skyline
