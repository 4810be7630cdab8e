// OLLA's integer program for the order of ops.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "memory/solvers/programs.h"

namespace skyline {

// Limits on what a program is given.
struct OrderModelLimits {
  std::size_t ops = 0;
  std::uint64_t units = 0;  // the sum of all sizes, in their greatest common divisor
};

// The order in OLLA's integer program (arXiv:2210.12924, sections 3.1 and 4.1): columns that say at
// which step each value is created or preserved, and rows that make them an order. Differs from the
// paper so that the answer is exact for our graphs:
// - All outputs of an op share one column a step, which also holds for an op without outputs. One
//   op runs a step, so that an op's span (ASAP to ALAP) counts all its ancestors and descendants.
// - A value is preserved at a step if it was created before and a reader did not run before: the
//   paper's rows from step to step, added up, which bounds more tightly.
// - An output is written in place at a step if execution would: the first of its pairs in sequence
//   that it may use. Such columns lower the bytes of the step.
// Only the columns of ops are whole; they decide all others.
class OrderModel {
 public:
  using Terms = IntegerProgram::Terms;

  // Throws GraphError, naming algorithm `name` and the limit, for a problem beyond the limits.
  OrderModel(const OrderProblem& problem, std::string_view name, const OrderModelLimits& limits);

  const OrderProblem& problem() const { return problem_; }
  IntegerProgram& program() { return program_; }
  std::size_t steps() const { return problem_.ops.size(); }
  double units(std::uint64_t bytes) const;
  std::uint64_t bytes(double units) const;  // rounds to whole units

  // Each adds factor × (1 if so, else 0).
  void add_run(Terms& terms, OpId op, std::size_t step, double factor) const;
  void add_alive(Terms& terms, std::uint32_t value, std::size_t step, double factor) const;
  void add_in_place(Terms& terms, OpId op, std::size_t pair, std::size_t step, double factor) const;

  // Adds rows: the bytes at each step are at most column `peak`, in units.
  void bound_bytes(int peak);

  // The solution's order.
  std::vector<OpId> order() const;
  // True if the op uses its pair in the solution.
  bool in_place(OpId op, std::size_t pair) const;

 private:
  using Columns = std::vector<int>;  // by step; kNoColumn outside the span
  static constexpr int kNoColumn = -1;

  struct Span {
    std::size_t first = 0, last = 0;  // steps
  };

  void check(std::string_view name, const OrderModelLimits& limits);
  void find_spans();
  void add_ops();
  void add_values();
  void add_pairs(OpId op);
  void add_pair(OpId op, std::size_t pair);
  Columns columns(std::size_t first, std::size_t last, bool whole);
  void add_run_before(Terms& terms, OpId op, std::size_t step, double factor) const;
  void preserve(std::uint32_t value, OpId reader);

  const OrderProblem& problem_;
  std::uint64_t unit_ = 1;
  IntegerProgram program_;
  std::vector<Span> spans_;                         // by op
  std::vector<Columns> run_;                        // by op
  std::vector<Columns> preserved_;                  // by value
  std::vector<std::vector<Columns>> written_over_;  // by op and pair
};

// Solves OLLA's integer program for the order alone (arXiv:2210.12924, sections 3.1 and 4.1; see
// OrderModel) with COIN-OR CBC: the paper's reference, for small graphs. In-place pairs, control
// edges and workspaces are part of it, so that a proved answer equals that of `optimal`. Returns
// the program's order if CBC finds no better one. The bound is that of one flow, or the peak if CBC
// proved it. Stops at options.time_limit_seconds, or without one after a fixed number of nodes;
// `states` is 0. Runs one solve at a time in a process.
//
// Throws GraphError beyond 30 ops, or if all sizes together exceed 2^16 units (their greatest
// common divisor): beyond that CBC's tolerances could hide a unit.
OrderAnswer order_program(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
