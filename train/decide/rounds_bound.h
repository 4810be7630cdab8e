#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/savings.h"

namespace skyline {

class BudgetedStep;

// Proves what a step takes at least within some bytes, whichever of its chains run in rounds, and
// whether it sums late or early.
//
// A family holds the steps that agree about the first chains. What is proved of its relaxation (see
// in_any_rounds()) holds for all of them. The family with the least bound is split by its next
// chain, until the least is one step or enough: a branch and bound.
class RoundsBound {
 public:
  // Returns the step that saves so, relaxed for the chains from `first_open` on.
  using Make = std::function<std::shared_ptr<BudgetedStep>(const ByteSavings& saved,
                                                           std::size_t first_open)>;
  RoundsBound(std::vector<std::string> chains, bool sums_early, Make make);

  // Returns the fewest seconds of a step within `bytes`, with resident values; `enough` will do.
  double seconds_within(std::uint64_t bytes, double enough);
  // Returns the step, or a relaxation, that needs the fewest bytes.
  BudgetedStep& least();

 private:
  struct Family {
    ByteSavings saved;
    std::size_t decided = 0;  // chains
    std::shared_ptr<BudgetedStep> step;
    std::vector<Family*> parts = {};
  };
  struct Open {
    double bound = 0;
    Family* family = nullptr;
    bool is_proved = false;  // thoroughly

    bool operator<(const Open& other) const;  // the least one is the greatest
  };
  using Bound = std::function<double(BudgetedStep&)>;

  Family* add(ByteSavings saved, std::size_t decided);
  const std::vector<Family*>& parts_of(Family& family);
  Open least_of(const Bound& quick, const Bound& thorough, double enough);

  std::vector<std::string> chains_;
  Make make_;
  std::deque<Family> families_;
  std::vector<Family*> roots_;
};

}  // namespace skyline
