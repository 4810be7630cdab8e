// The budgets of a step of which only the graph is known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_curve.h"
#include "memory/budget/op_region.h"
#include "memory/solvers/chain_bound.h"

namespace skyline {

// A row for each recompute: value, inputs, bytes of workspace, seconds, and its share of them if
// one run gives several values.
using RecomputeRows =
    std::vector<std::tuple<ValueId, std::vector<ValueId>, std::uint64_t, double, double>>;

// A row for each region that may run in rounds: ops, inputs, pairs of an input and the value that
// may overwrite it, and by number of rounds the bytes of workspace and the seconds.
using RegionRows = std::vector<
    std::tuple<std::vector<OpId>, std::vector<ValueId>, std::vector<std::pair<ValueId, ValueId>>,
               std::vector<std::tuple<std::uint64_t, std::uint64_t, double>>>>;

struct GraphBudgetPoint {
  std::uint64_t peak = 0;
  double extra_seconds = 0, bound_seconds = 0;  // beyond the fastest step
  // Ops by number, -1 - v where value v is recomputed; ops in rounds are the last of their region.
  std::vector<std::int64_t> sequence;
  std::vector<std::uint64_t> rounds;  // by region: how many; 0: its ops run whole
};

// The steps that recompute values or run regions in rounds. Backward can recompute what any op of
// forward wrote, by running that op once more. The search runs an op of several values once for
// each that it needs, with the others as workspace. One run gives all of them, so in a bound each
// has a share of the seconds and no room for the others. Given rows say instead which values may be
// recomputed, and what of.
//
// Each choice of rounds is a step of its own. The best points of all their curves count, and the
// least of their bounds.
class GraphBudget {
 public:
  // `seconds` of each op; `backward` is its first op of backward. Throws GraphError if there are
  // not as many seconds as ops, or backward lies beyond them, or the graph is unsound, or a row
  // names a value that forward does not write or that is kept, or a region is unsound, or the
  // regions give more than 64 steps. A step that `stop` ends has no points.
  GraphBudget(StepGraph graph, std::vector<double> seconds, OpId backward,
              const std::optional<RecomputeRows>& rows, const RegionRows& regions,
              std::stop_source stop);

  // From the fastest step to the fewest bytes. Throws std::logic_error for a point that
  // check_budget() refuses.
  std::vector<GraphBudgetPoint> points();

 private:
  // The step of one choice of rounds.
  struct Step {
    Step(ProblemInRounds found_problem, ProblemInRounds relaxed_problem);

    ProblemInRounds found, relaxed;
    double seconds = 0;  // more than of the step that runs nothing in rounds; both keep all
    BudgetBound one_exit;
    ChainBound bound;
    std::vector<std::uint64_t> rounds = {};
    std::vector<BudgetPoint> curve = {};
  };
  struct Point {
    Step* step = nullptr;
    const BudgetPoint* point = nullptr;
    double seconds = 0;  // beyond the same step's
  };

  void add_recomputes(OpId op);
  void add_rows(const RecomputeRows& rows);
  void add_steps(const RegionRows& rows);
  double bound_within(std::uint64_t bytes, double found);

  BudgetProblem problem_, relaxed_;  // relaxed: for bounds
  std::vector<std::unique_ptr<Step>> steps_;
  double fastest_ = 0;
  std::stop_source stop_;
};

}  // namespace skyline
