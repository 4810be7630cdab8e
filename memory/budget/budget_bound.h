#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/order/order_problem.h"
#include "memory/order/search/max_flow.h"

namespace skyline {

// Proves how many seconds a budget costs at least, whatever is made again, how often, and in
// whatever order the ops run.
//
// Take an op of backward, the exit. When it runs, its ancestors have run and its descendants have
// not. Each value that an ancestor wrote and a descendant reads is alive then, or is made again
// later; so is each value that such a remake reads. What the exit itself reads is alive. Give a
// byte a price in seconds: the cheapest way is a minimum cut, in which living values cost their
// bytes and remakes their seconds. A step within the budget has at most the budget's bytes alive,
// so on remakes after the exit it spends at least
//
//   minimum cut + price × (new bytes of the exit − budget)
//
// seconds. Every exit and every price gives a bound; the greatest counts.
class BudgetBound {
 public:
  // The problem must outlive the bound. Throws GraphError for an unsound graph.
  explicit BudgetBound(const BudgetProblem& problem);

  // Returns a lower bound of the extra seconds of a step within `bytes`, without resident values;
  // infinity if no step fits.
  double extra_seconds(std::uint64_t bytes);
  // What every step needs, however long it takes.
  struct Least {
    std::uint64_t bytes = 0;
    OpId op = 0;                       // when it runs, they are alive
    std::vector<ValueId> values = {};  // that it reads and writes, or that are kept for later
  };
  Least least();
  std::uint64_t least_bytes() { return least().bytes; }

 private:
  // When an exit runs.
  struct Moment {
    std::uint64_t exit_bytes = 0;       // new ones, and those of values that the exit reads
    std::vector<std::uint32_t> needed;  // values that only later ops read
    std::vector<char> written;          // by value: an ancestor wrote it
  };
  // The cut at one price.
  struct Need {
    std::uint64_t bytes = 0;          // alive at the exit, its own included
    double seconds = 0;               // of remakes
    std::vector<std::uint32_t> kept;  // values of order_, besides those of the exit
  };

  Moment moment_of(OpId exit) const;
  void mark(OpId exit, bool before, std::vector<char>& marked) const;
  Need need(const Moment& moment, double price);
  double bound_of(const Moment& moment, std::uint64_t bytes);

  const BudgetProblem& problem_;
  OrderProblem order_;                    // the same ops; values that are requested
  std::vector<std::uint32_t> value_of_;   // in order_, by value of the graph
  std::vector<std::uint32_t> remake_of_;  // by value of order_
  std::vector<std::vector<std::uint32_t>> remake_inputs_;  // values of order_, by remake
  MaxFlow flow_;
};

}  // namespace skyline
