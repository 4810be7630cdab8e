#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_curve.h"
#include "train/decide/divided_step.h"
#include "train/decide/rounds_bound.h"
#include "train/decide/step_decisions.h"
#include "train/decide/step_seconds.h"
#include "train/run/dry_run.h"

namespace skyline {

// A BudgetedStep may change these things of a step.
struct BudgetFreedom {
  bool in_place = true;
  bool fits_engines = false;  // smaller engines may compute, with other bits
};

// A training step as its budgets see it: what it can recompute, and how many seconds that costs for
// how many bytes.
class BudgetedStep {
 public:
  // `facts` is the step without recomputation but with all else of `saved`. `seconds`: of each of
  // its ops. With `groups` of ops it is the relaxation of in_any_rounds(), for bounds alone.
  BudgetedStep(const DryRunFacts& facts, ByteSavings saved, std::vector<double> seconds,
               const BudgetFreedom& freedom, const std::vector<std::uint32_t>& groups = {});
  BudgetedStep(const BudgetedStep&) = delete;  // its parts refer to each other

  // Finds the curve with its share of the work of so many searches.
  void search(std::size_t searches = 1) { curve_ = budget_curve(problem_, *bound_, searches); }
  // From all kept to the fewest bytes, which are those of the program's sequence.
  const std::vector<BudgetPoint>& curve() const noexcept { return curve_; }
  double seconds() const noexcept { return seconds_; }  // of the step that recomputes nothing
  const ByteSavings& saved() const noexcept { return saved_; }
  std::uint64_t resident_bytes() const noexcept { return resident_bytes_; }
  std::size_t candidates() const noexcept { return problem_.recomputes.size(); }
  // True if a smaller engine could compute an op, if it might.
  bool has_engines() const noexcept { return has_engines_; }

  // The savings and the smaller engines of a point of the curve.
  Savings savings_of(const BudgetPoint& point) const;
  EngineNames engines_of(const BudgetPoint& point) const;

  // Returns the fewest extra seconds of any step within `bytes`, with resident values. It counts
  // bytes alive, so it holds for every order and every placement. A bound of `enough` will do; the
  // quick one takes one exit instead of several.
  double bound_within(std::uint64_t bytes, double enough);
  double quick_bound(std::uint64_t bytes) {
    return bound_->extra_seconds(bytes - std::min(bytes, resident_bytes_));
  }
  // Returns the fewest bytes of any step, with resident values.
  std::uint64_t least_bytes() { return resident_bytes_ + bound_->least_bytes(); }
  // "It needs 2 MiB for resident values and, when relu_grad of conv1 runs, 588 KiB: …".
  std::string why_least();

 private:
  void add_recomputes(const RecordedStep& recorded, const BudgetFreedom& freedom);
  void add_engine(const EngineUse& use, const RecomputedOp& op);
  std::string largest_text(const BudgetBound::Least& least) const;

  BudgetProblem problem_;
  ByteSavings saved_;
  bool has_engines_ = false;
  double seconds_ = 0;
  std::uint64_t resident_bytes_ = 0;
  std::vector<ValueName> names_;    // of each recompute's value
  std::vector<EngineUse> engines_;  // by engine of the problem
  std::optional<BudgetBound> bound_;
  std::vector<BudgetPoint> curve_;
};

// A training step as it would run: its longest batch, and what the allocator `planned` reserves.
struct StepTrial {
  DryRunFacts facts;
  std::uint64_t reserved_bytes = 0;
};

// What a budget asks about a program.
struct BudgetQuestion {
  // Dry-runs and plans a training step with these savings and engines. Its last batch decides: the
  // other batches recompute the same and have no more bytes alive.
  std::function<StepTrial(const Savings&, const EngineNames&)> trial;
  StepSeconds seconds;
  BudgetFreedom freedom = {};
  std::optional<BatchDivision> division = {};  // for a refusal
};

inline constexpr std::size_t kShownBudgets = 24;  // points of a curve for people

// Plans how a step saves bytes, so that it fits a budget.
//
//   trial of the step that recomputes nothing → BudgetedStep: its curve of bytes against seconds
//   the same with its first chain in rounds, its first two, … all
//   and these with early sums of gradients, if it sums more than two at once
//   the best of all curves → within(bytes): the first point that fits by its trial, which orders
//   and places the step
//
// Bounds hold for all sets of chains (RoundsBound).
//
// The trial of a point may need less than the point says, because it runs in another order. So
// within() also tries the cheaper points before it, as long as they fit. More bytes never cost more
// seconds.
class StepBudget {
 public:
  // Throws UsageError and what the trial throws.
  explicit StepBudget(BudgetQuestion question);
  StepBudget(const StepBudget&) = delete;  // its parts refer to each other

  // Throws UsageError, and says which bytes are missing, what needs them, and which smaller batches
  // fit.
  BudgetAnswer within(std::uint64_t bytes);
  // The same without a bound; empty if none was found.
  std::optional<BudgetAnswer> found_within(std::uint64_t bytes);
  // Returns the step with the fewest bytes that takes at most `share` longer.
  BudgetAnswer at_most_longer(double share);
  // Returns up to `points` points, from all kept to the fewest bytes.
  std::vector<BudgetStep> curve(std::size_t points);

  // Returns the steps of smaller batches that recompute nothing, unless they would train another
  // network.
  std::vector<DividedStep> divided() const;

  // Reserved by the step that recomputes nothing.
  std::uint64_t unlimited_bytes() { return reserved_bytes(0); }
  // Reserved by the smallest step that was found.
  std::uint64_t least_bytes() { return reserved_bytes(curve_.size() - 1); }

 private:
  // A point of a step's curve. The seconds are beyond those of the step that saves nothing.
  struct Point {
    BudgetedStep* step = nullptr;
    const BudgetPoint* point = nullptr;
    double extra_seconds = 0;
  };

  // Bytes of a step in the program's sequence, with resident values.
  static std::uint64_t bytes_of(const Point& point) {
    return point.step->resident_bytes() + point.point->peak;
  }
  void add_curve();
  const DryRunFacts& facts_of(const ByteSavings& saved);
  std::shared_ptr<BudgetedStep> step_with(const ByteSavings& saved, std::size_t first_open);
  std::uint64_t reserved_bytes(std::size_t point);
  std::optional<std::size_t> point_within(std::uint64_t bytes);
  BudgetAnswer answer(std::size_t point, std::uint64_t budget_bytes);
  double bound_within(std::uint64_t bytes, double found);
  std::string why_too_small(std::uint64_t bytes);

  BudgetQuestion question_;
  // The last batch of each trial that recomputes nothing, its ops in the program's sequence; by
  // early sums and chains in rounds.
  std::map<std::pair<bool, std::set<std::string, std::less<>>>, DryRunFacts> facts_;
  std::vector<double> seconds_;  // of the ops of the step that saves nothing
  std::map<std::pair<std::string, std::string>, std::uint32_t> chain_of_op_;  // by name and layer
  std::vector<std::shared_ptr<BudgetedStep>> steps_;  // the first saves nothing
  std::optional<RoundsBound> bound_;
  double search_seconds_ = 0;  // that the curves took
  std::vector<Point> curve_;   // each takes fewer bytes and more seconds than the one before
  std::vector<std::optional<std::uint64_t>> reserved_;  // by the trials of points
};

}  // namespace skyline
