#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory/budget/budget_bound.h"

namespace skyline {

// Proves at least what BudgetBound proves, and often more: it looks at several exits of a step, one
// after the other.
//
// One exit permits a step to recompute everything right after it, as if bytes did not count any
// more. But the next exit must fit, too: what was recomputed before it is alive there, or is
// recomputed once more later. A linear program has a column for
//
//   each exit and value: the value is alive when the exit runs
//   any two exits and a value: the value is recomputed between them
//
// and a row for each thing that every step does: what an op reads between two exits was alive at
// the first or is recomputed between them, and so is what a recompute reads; and what is alive at
// an exit fits into the bytes. The least seconds of all recomputes, whole or in parts, are a bound
// for every order and for any number of recomputes.
//
// The first exit is BudgetBound's. The others are added one by one, each where it raises the bound
// most.
class ChainBound {
 public:
  // `bound`: of the problem. Both must outlive it.
  ChainBound(const BudgetProblem& problem, BudgetBound& bound);

  struct Proof {
    double extra_seconds = 0;
    std::vector<OpId> exits = {};  // that gave the bound, each a descendant of the one before
  };
  // Returns a lower bound of the extra seconds of a step within `bytes`, without resident values;
  // infinity if BudgetBound proves that no step fits. Adds exits until they prove `enough` seconds.
  // A hundred recomputes take some 200 ms, any number at most about a second.
  Proof proof(std::uint64_t bytes, double enough = std::numeric_limits<double>::infinity());
  double extra_seconds(std::uint64_t bytes,
                       double enough = std::numeric_limits<double>::infinity()) {
    return proof(bytes, enough).extra_seconds;
  }

 private:
  using Exit = ExitGraph::Moment;
  using Chain = std::vector<const Exit*>;

  std::vector<Exit> candidates(const BudgetBound::Proof& first, std::uint64_t bytes) const;
  bool reads_recomputed(OpId op, const RecomputeChoice& recomputed) const;
  static bool extends(const Chain& chain, const Exit& exit);
  static Chain with(Chain chain, const Exit& exit);
  double least_seconds(const Chain& chain, std::uint64_t bytes, double unit);

  const BudgetProblem& problem_;
  BudgetBound& bound_;
  const ExitGraph& graph_;
  std::size_t work_ = 0;  // columns and rows of the programs of a proof
};

}  // namespace skyline
