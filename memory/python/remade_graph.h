#pragma once

#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// A step of which only the graph is known, as a problem of budgets: backward can make again what
// any op of forward wrote, by running that op once more. An op that made several values needs room
// for all of them, so each of its remakes counts the others as workspace.
class RemadeGraph {
 public:
  // `seconds` of each op; `backward` is its first op of backward. Throws GraphError if there are
  // not as many seconds as ops, or backward lies beyond them, or the graph is unsound.
  RemadeGraph(StepGraph graph, std::vector<double> seconds, OpId backward);

  const BudgetProblem& problem() const { return problem_; }
  // Returns the ops that a choice runs again, one a remake, in the step's sequence.
  std::vector<OpId> remade_ops(const RemakeChoice& choice) const;

 private:
  void add_remakes(OpId op);

  BudgetProblem problem_;
  std::vector<OpId> op_of_;  // by remake
};

}  // namespace skyline
