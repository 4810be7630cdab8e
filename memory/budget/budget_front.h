#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// A choice and what its step takes in the program's sequence.
struct BudgetPoint {
  RemakeChoice choice;
  std::uint64_t peak = 0;    // bytes, without resident values
  double extra_seconds = 0;  // of its remakes and its smaller engines
  SmallerEngines smaller = {};
};

// Points of which none takes as few bytes and as few seconds as another.
class BudgetFront {
 public:
  // Adds a point unless one of the front is as good; drops those that it beats.
  void add(const RemakeChoice& choice, std::uint64_t peak, double extra_seconds,
           const SmallerEngines& smaller = {});
  // Returns the fastest point within `bytes`; null if there is none.
  const BudgetPoint* within(std::uint64_t bytes) const;
  // Returns the slowest point that takes more than `bytes`; null if there is none.
  const BudgetPoint* beyond(std::uint64_t bytes) const;
  // Returns the points from the most bytes to the fewest.
  std::vector<BudgetPoint> points() const;

 private:
  std::map<std::uint64_t, BudgetPoint> points_;  // by peak
};

}  // namespace skyline
