// OLLA's integer program for the order of ops.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "memory/solvers/programs.h"

namespace skyline {

// Limits on what a program is given.
struct OrderModelLimits {
  std::size_t ops = 0;
  std::uint64_t units = 0;  // the sum of all sizes; larger sums are counted in larger units
};

// The order in OLLA's integer program (arXiv:2210.12924, sections 3.1 and 4.1), as a columns that
// says, for each op and step, whether the op ran before. One op runs a step. Differs from the paper
// so that the answer is exact for our graphs and the program small:
// - An op's span is from its earliest to its latest step, which count all ops that it needs and all
//   that need it. It has columns inside of its span alone.
// - A value is alive from its producer's step to the step of its last reader. If the graph says
//   which reader is the last, that is a difference of two columns of ops; else the value has a
//   column a step, with a row for each reader that may be the last.
// - An output is written in place at a step if execution would: the first of its pairs in sequence
//   that it may use. Such columns lower the bytes of the step.
// - Of two ops that read, write and need the same, the program's first runs first.
// Only the columns of ops are whole; they decide all others.
//
// Sizes are counted in their greatest common divisor, or in larger units and rounded down. Then the
// program's cost is still a bound, because real bytes are no less.
class OrderModel {
 public:
  using Terms = IntegerProgram::Terms;

  // Throws GraphError, naming algorithm `name` and the limit, for too many ops.
  OrderModel(const OrderProblem& problem, std::string_view name, const OrderModelLimits& limits);

  const OrderProblem& problem() const { return problem_; }
  IntegerProgram& program() { return program_; }
  std::size_t steps() const { return problem_.ops.size(); }
  double units(std::uint64_t bytes) const;  // rounded down
  // Returns the units that bytes must reach at least: rounded up if sizes are exact.
  double units_at_least(std::uint64_t bytes) const;
  // True if the op must run before the other.
  bool precedes(OpId op, OpId other) const { return ancestors_[other].test(op); }
  // The first and the last step at which an op may run.
  std::size_t first_step(OpId op) const { return spans_[op].first; }
  std::size_t last_step(OpId op) const { return spans_[op].last; }
  // The readers of a value that no other reader needs: one of them is its last.
  const std::vector<OpId>& last_readers(std::uint32_t value) const { return last_readers_[value]; }

  // Each adds factor × (1 if so, else 0).
  void add_run(Terms& terms, OpId op, std::size_t step, double factor) const;
  void add_alive(Terms& terms, std::uint32_t value, std::size_t step, double factor) const;
  void add_in_place(Terms& terms, OpId op, std::size_t pair, std::size_t step, double factor) const;

  // Adds the column of the peak and rows: the bytes at each step are at most the peak. No order is
  // below `least` bytes, and one of `most` is known.
  int add_peak(std::uint64_t least, std::uint64_t most);

  // Gives CBC an order to begin with.
  void start_from(std::span<const OpId> order, int peak, std::uint64_t bytes);
  // Solves within the seconds, or if they are unset within `nodes`, and returns what no solution is
  // below, in bytes.
  std::uint64_t solve(const std::optional<double>& seconds, int nodes);
  // The solution's order; empty if there is none.
  std::vector<OpId> order() const;

 private:
  static constexpr std::size_t kMostOps = 256;  // of any limit
  static constexpr int kNoColumn = -1;
  using OpSet = std::bitset<kMostOps>;
  using Columns = std::vector<int>;  // by step; kNoColumn where none is needed

  struct Span {
    std::size_t first = 0, last = 0;  // steps
  };

  void choose_units(std::uint64_t most);
  void find_spans();
  void find_last_readers();
  void add_twins();
  bool are_twins(OpId a, OpId b) const;
  void add_ops();
  void add_sequence(OpId before, OpId op);
  void add_value(std::uint32_t value);
  void add_pair(OpId op, std::size_t pair);
  Columns columns(std::size_t first, std::size_t last, bool whole);
  // Adds factor × (1 if the op runs before the step, else 0).
  void add_ran(Terms& terms, OpId op, std::size_t step, double factor) const;

  const OrderProblem& problem_;
  std::uint64_t unit_ = 1;  // bytes
  bool exact_ = true;       // the unit divides all sizes
  IntegerProgram program_;
  int one_ = 0;  // a column that is 1
  std::vector<OpSet> ancestors_;
  std::vector<Span> spans_;                         // by op
  std::vector<std::vector<OpId>> last_readers_;     // by value
  std::vector<Columns> ran_;                        // by op: before the step
  std::vector<Columns> alive_;                      // by value; empty: one reader is the last
  std::vector<std::vector<Columns>> written_over_;  // by op and pair
};

// Solves OLLA's integer program for the order alone (arXiv:2210.12924, sections 3.1 and 4.1; see
// OrderModel) with COIN-OR CBC: the paper's reference. In-place pairs, control edges and workspaces
// are part of it, so that a proved answer equals that of `optimal`. CBC begins with the best order
// of the rules `program`, `early`, `greedy` and `late`, and with the bound of one flow; it returns
// that order if it finds no better one. The bound is the better of the flow's and CBC's. Stops at
// options.time_limit_seconds, or without one after a fixed number of nodes; `states` is 0. Runs one
// solve at a time in a process.
//
// Throws GraphError beyond 256 ops: at 202 ops CBC ended 40 s after a limit of 30 s, at 466 ops 86
// s after. If all sizes together exceed 2^20 units (their greatest common divisor), CBC's bounds
// are exact to a millionth of that sum only.
OrderAnswer order_program(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
