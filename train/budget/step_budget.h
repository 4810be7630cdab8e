#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/budget/budget_seconds.h"
#include "train/budget/budgeted_step.h"
#include "train/cli/figures.h"

namespace skyline {

// A training step as it would run: its longest batch, and what the allocator `planned` reserves.
struct StepTrial {
  DryRunFacts facts;
  std::uint64_t reserved_bytes = 0;
};

// What a budget asks about a program.
struct BudgetQuestion {
  // Dry-runs and plans a training step with these savings and engines. Its last batch decides: the
  // other batches make the same again and have no more bytes alive.
  std::function<StepTrial(const Savings&, const EngineNames&)> trial;
  StepSeconds seconds;
  BudgetFreedom freedom = {};
};

inline constexpr std::size_t kShownBudgets = 24;  // points of a curve for people

// A point of the curve of bytes against seconds.
struct BudgetStep {
  std::uint64_t bytes = 0;  // with resident values, in the program's sequence
  double overhead = 0, bound = 0;
  Savings savings = {};
  EngineNames engines = {};
};

// The fastest step that was found within a budget. Seconds are those of ops, foreseen.
struct BudgetAnswer {
  std::uint64_t budget_bytes = 0;
  std::uint64_t reserved_bytes = 0;   // by the step within the budget
  std::uint64_t unlimited_bytes = 0;  // reserved by the step that makes nothing again
  double seconds = 0;                 // of the step that makes nothing again
  double extra_seconds = 0;           // of what is made again, early sums and smaller engines
  double bound_seconds = 0;           // no step within the budget has fewer extra seconds
  std::size_t recomputed = 0;         // values that are made again
  std::size_t candidates = 0;         // values that could be
  Savings savings;                    // null: none
  EngineNames engines = {};           // smaller ones than the rule's
  std::string seconds_source;
  double planning_seconds = 0;    // with the curve's
  std::vector<BudgetStep> curve;  // that the step was chosen from; empty unless asked for

  double overhead() const { return extra_seconds / seconds; }
  double bound() const { return bound_seconds / seconds; }

  // "makes 31 of 175 values again: 5.81 % longer (at least 5.64 %), ...".
  std::string text() const;
};
Rows<BudgetAnswer> rows(const BudgetAnswer*);
Rows<BudgetStep> rows(const BudgetStep*);

// Plans how a step saves bytes, so that it fits a budget.
//
//   trial of the step that makes nothing again → BudgetedStep: its curve of bytes against seconds
//   the same with early sums of gradients, if it sums more than two at once
//   the best of both curves → within(bytes): the first point that fits by its trial, which orders
//   and places the step
//
// The trial of a point may need less than the point says, because it runs in another order. So
// within() also tries the cheaper points before it, as long as they fit. More bytes never cost more
// seconds.
class StepBudget {
 public:
  // Throws UsageError and what the trial throws.
  explicit StepBudget(BudgetQuestion question);
  StepBudget(const StepBudget&) = delete;  // its parts refer to each other

  // Throws UsageError, and says which bytes are missing and what needs them.
  BudgetAnswer within(std::uint64_t bytes);
  // Returns the step with the fewest bytes that takes at most `share` longer.
  BudgetAnswer at_most_longer(double share);
  // Returns up to `points` points, from all kept to the fewest bytes.
  std::vector<BudgetStep> curve(std::size_t points);

  // Reserved by the step that makes nothing again.
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
  std::uint64_t reserved_bytes(std::size_t point);
  std::optional<std::size_t> point_within(std::uint64_t bytes);
  BudgetAnswer answer(std::size_t point, std::uint64_t budget_bytes);
  double bound_within(std::uint64_t bytes, double found);
  std::string why_too_small(std::uint64_t bytes);

  BudgetQuestion question_;
  std::vector<std::unique_ptr<BudgetedStep>> steps_;  // late sums, and early ones
  double search_seconds_ = 0;                         // that the curves took
  std::vector<Point> curve_;  // each takes fewer bytes and more seconds than the one before
  std::vector<std::optional<std::uint64_t>> reserved_;  // by the trials of points
};

}  // namespace skyline
