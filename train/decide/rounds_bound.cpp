#include "train/decide/rounds_bound.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "train/decide/step_budget.h"

namespace skyline {
namespace {

// A split takes a dry run; bounds of ten chains would need a thousand.
constexpr std::size_t kMostSplits = 32;

}  // namespace

RoundsBound::RoundsBound(std::vector<std::string> chains, bool sums_early, Make make)
    : chains_(std::move(chains)), make_(std::move(make)) {
  roots_.push_back(add({}, 0));
  if (sums_early) roots_.push_back(add({.early_sums = true}, 0));
}

RoundsBound::Family* RoundsBound::add(ByteSavings saved, std::size_t decided) {
  std::shared_ptr<BudgetedStep> step = make_(saved, decided);
  return &families_.emplace_back(Family{std::move(saved), decided, std::move(step)});
}

const std::vector<RoundsBound::Family*>& RoundsBound::parts_of(Family& family) {
  if (family.parts.empty()) {
    ByteSavings saved = family.saved;
    family.parts.push_back(add(saved, family.decided + 1));
    saved.rounds.insert(chains_[family.decided]);
    family.parts.push_back(add(std::move(saved), family.decided + 1));
  }
  return family.parts;
}

bool RoundsBound::Open::operator<(const Open& other) const {
  return std::tuple(-bound, family->decided) < std::tuple(-other.bound, other.family->decided);
}

// A family of many steps is worth a thorough proof if that may save several splits; all of them
// prove little.
RoundsBound::Open RoundsBound::least_of(const Bound& quick, const Bound& thorough, double enough) {
  std::priority_queue<Open> open;
  for (Family* root : roots_) open.push({quick(*root->step), root});
  for (std::size_t splits = 0;;) {
    Open least = open.top();
    Family& family = *least.family;
    const std::size_t undecided = chains_.size() - family.decided;
    if (least.bound >= enough || (least.is_proved && undecided == 0)) return least;
    open.pop();
    if (!least.is_proved && (undecided == 0 || (undecided > 1 && family.decided > 0))) {
      open.push({std::max(least.bound, thorough(*family.step)), &family, true});
      continue;
    }
    if (splits++ == kMostSplits) return least;
    for (Family* part : parts_of(family)) {
      open.push({std::max(least.bound, quick(*part->step)), part});
    }
  }
}

double RoundsBound::seconds_within(std::uint64_t bytes, double enough) {
  const auto quick = [&](BudgetedStep& step) { return step.seconds() + step.quick_bound(bytes); };
  const auto thorough = [&](BudgetedStep& step) {
    return step.seconds() + step.bound_within(bytes, enough - step.seconds());
  };
  return least_of(quick, thorough, enough).bound;
}

BudgetedStep& RoundsBound::least() {
  const auto bytes = [](BudgetedStep& step) { return static_cast<double>(step.least_bytes()); };
  return *least_of(bytes, bytes, std::numeric_limits<double>::infinity()).family->step;
}

}  // namespace skyline
