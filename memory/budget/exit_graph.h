#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/order/order_problem.h"

namespace skyline {

// The ops of a problem as exits: what is alive when one of them runs, whatever is made again and in
// whatever order the ops run. An exit's ancestors have run then, and its descendants have not.
class ExitGraph {
 public:
  // The problem must outlive it. Throws GraphError for an unsound graph.
  explicit ExitGraph(const BudgetProblem& problem);

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // The moment when an exit runs. Values are those of order().
  struct Moment {
    OpId exit = 0;
    std::vector<char> before, after;    // by op: its ancestors, its descendants
    std::uint64_t exit_bytes = 0;       // new ones, and those of values that are alive anyway
    std::uint32_t engine = kNone;       // its smaller engine
    std::uint64_t engine_bytes = 0;     // more than that engine takes
    double engine_seconds = 0;          // that it costs
    std::vector<std::uint32_t> needed;  // values that only later ops read
    // True for a value that an ancestor wrote and that may be dropped and made again later. The
    // exit's inputs and values that are kept to the end of the step are alive anyway.
    std::vector<char> written;
  };
  Moment moment_of(OpId exit) const;

  // The same ops; only values that are requested.
  const OrderProblem& order() const { return order_; }
  std::uint32_t remake_of(std::uint32_t value) const { return remake_of_[value]; }  // kNone: none
  const std::vector<std::uint32_t>& remake_inputs(std::uint32_t remake) const {
    return remake_inputs_[remake];
  }
  // Bytes of a remake's workspace, of its smaller engine if it has one.
  std::uint64_t remake_workspace(std::uint32_t remake) const { return remake_workspaces_[remake]; }
  std::uint32_t engine_of(OpId op) const { return engine_of_[op]; }        // kNone: no smaller one
  std::uint64_t engine_bytes(OpId op) const { return engine_bytes_[op]; }  // that it saves
  const std::vector<double>& engine_seconds() const { return engine_seconds_; }  // by engine

  // Marks the ancestors of an exit, or its descendants.
  void mark(OpId exit, bool before, std::vector<char>& marked) const;
  // The outputs of an op that are not written over an input.
  std::vector<std::uint32_t> new_outputs(OpId op) const;

 private:
  OrderProblem order_;
  std::vector<std::uint32_t> remake_of_;                   // by value
  std::vector<std::vector<std::uint32_t>> remake_inputs_;  // values, by remake
  std::vector<std::uint64_t> remake_workspaces_;
  std::vector<std::uint32_t> engine_of_;     // by op
  std::vector<std::uint64_t> engine_bytes_;  // by op
  std::vector<double> engine_seconds_;
};

}  // namespace skyline
