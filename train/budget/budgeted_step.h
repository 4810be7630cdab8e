#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_curve.h"
#include "train/budget/tried_engines.h"
#include "train/run/dry_run.h"

namespace skyline {

// A BudgetedStep may change these things of a step.
struct BudgetFreedom {
  bool in_place = true;
  bool fits_engines = false;  // smaller engines may compute, with other bits
};

// A training step as its budgets see it: what it can make again, and how many seconds that costs
// for how many bytes.
class BudgetedStep {
 public:
  // The step makes nothing again, and sums gradients early or late. `seconds`: of each of its ops.
  BudgetedStep(const DryRunFacts& facts, bool early_sums, std::vector<double> seconds,
               const BudgetFreedom& freedom);
  BudgetedStep(const BudgetedStep&) = delete;  // its parts refer to each other

  // From all kept to the fewest bytes, which are those of the program's sequence.
  const std::vector<BudgetPoint>& curve() const noexcept { return curve_; }
  double seconds() const noexcept { return seconds_; }  // of the step that makes nothing again
  std::uint64_t resident_bytes() const noexcept { return resident_bytes_; }
  std::size_t candidates() const noexcept { return problem_.recomputes.size(); }
  // True if a smaller engine could compute an op, if it might.
  bool has_engines() const noexcept { return has_engines_; }

  // The savings and the smaller engines of a point of the curve.
  Savings savings_of(const BudgetPoint& point) const;
  EngineNames engines_of(const BudgetPoint& point) const;

  // Returns the fewest extra seconds of any step within `bytes`, with resident values. It counts
  // bytes alive, so it holds for every order and every placement. A bound that is near `found`, the
  // extra seconds of a known step, is near enough.
  double bound_within(std::uint64_t bytes, double found);
  // Returns the fewest bytes of any step, with resident values.
  std::uint64_t least_bytes() { return resident_bytes_ + bound_->least_bytes(); }
  // "It needs 2 MiB for resident values and, when relu_grad of conv1 runs, 588 KiB: …".
  std::string why_least();

 private:
  void add_recomputes(const RecordedStep& recorded, const BudgetFreedom& freedom);
  void add_engine(const EngineUse& use, const RecomputedOp& op);
  std::string largest_text(const BudgetBound::Least& least) const;

  BudgetProblem problem_;
  bool early_sums_ = false, has_engines_ = false;
  double seconds_ = 0;
  std::uint64_t resident_bytes_ = 0;
  std::vector<ValueName> names_;    // of each recompute's value
  std::vector<EngineUse> engines_;  // by engine of the problem
  std::optional<BudgetBound> bound_;
  std::vector<BudgetPoint> curve_;
};

}  // namespace skyline
