#include "memory/solvers/order_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <numeric>
#include <string>

#include "memory/errors.h"
#include "memory/order/baselines.h"
#include "memory/order/certificate.h"

namespace skyline {
namespace {

constexpr std::size_t kMostOps = 64;  // of any limit
using OpSet = std::bitset<kMostOps>;

void require_at_most(std::string_view name, std::string_view what, std::uint64_t got,
                     std::uint64_t most) {
  if (got <= most) return;
  throw GraphError(
      {.source = std::string(name),
       .problem = fmt::format("the graph is too large for this algorithm: {}, got {}, expected at "
                              "most {}",
                              what, got, most)});
}

bool conflict(const OrderProblem::Pair& a, const OrderProblem::Pair& b) {
  return a.input == b.input || a.output == b.output;
}

constexpr std::string_view kName = "olla-order";
// CBC's integer tolerance is 1e-7. A step's bytes are off by less than half a unit:
// 2^16 units × 2 × 30 steps × 1e-7 = 0.39.
constexpr OrderModelLimits kLimits{.ops = 30, .units = 1 << 16};
constexpr int kNodesWithoutTimeLimit = 20000;

}  // namespace

OrderModel::OrderModel(const OrderProblem& problem, std::string_view name,
                       const OrderModelLimits& limits)
    : problem_(problem) {
  check(name, limits);
  find_spans();
  add_ops();
  add_values();
  for (OpId op = 0; op < problem_.ops.size(); ++op) add_pairs(op);
}

void OrderModel::check(std::string_view name, const OrderModelLimits& limits) {
  require_at_most(name, "ops", problem_.ops.size(), std::min(limits.ops, kMostOps));
  std::uint64_t sum = 0, divisor = 0;
  const auto count = [&](std::uint64_t bytes) {
    sum += bytes;
    divisor = std::gcd(divisor, bytes);
  };
  for (const OrderProblem::Value& value : problem_.values) count(value.bytes);
  for (const OrderProblem::Op& op : problem_.ops) count(op.workspace_bytes);
  unit_ = std::max<std::uint64_t>(divisor, 1);
  require_at_most(name, fmt::format("sum of all sizes in units of {} bytes", unit_), sum / unit_,
                  limits.units);
}

double OrderModel::units(std::uint64_t bytes) const { return static_cast<double>(bytes / unit_); }

std::uint64_t OrderModel::bytes(double units) const {
  return static_cast<std::uint64_t>(std::llround(units)) * unit_;
}

// The program's order respects all predecessors, so one pass each way finds ancestors and
// descendants.
void OrderModel::find_spans() {
  const std::size_t ops = problem_.ops.size();
  std::vector<OpSet> ancestors(ops), descendants(ops);
  for (OpId op = 0; op < ops; ++op) {
    for (const OpId before : problem_.ops[op].predecessors) {
      ancestors[op] |= OpSet(ancestors[before]).set(before);
    }
  }
  for (std::size_t op = ops; op-- > 0;) {
    for (const OpId after : problem_.ops[op].successors) {
      descendants[op] |= OpSet(descendants[after]).set(after);
    }
  }
  for (OpId op = 0; op < ops; ++op) {
    spans_.push_back({ancestors[op].count(), ops - 1 - descendants[op].count()});
  }
}

OrderModel::Columns OrderModel::columns(std::size_t first, std::size_t last, bool whole) {
  Columns added(steps(), kNoColumn);
  for (std::size_t step = first; step <= last && step < steps(); ++step) {
    added[step] = whole ? program_.add_whole_column(0, 1) : program_.add_column(0, 1);
  }
  return added;
}

void OrderModel::add_run(Terms& terms, OpId op, std::size_t step, double factor) const {
  if (run_[op][step] != kNoColumn) terms.push_back({run_[op][step], factor});
}

void OrderModel::add_run_before(Terms& terms, OpId op, std::size_t step, double factor) const {
  for (std::size_t at = 0; at < step; ++at) add_run(terms, op, at, factor);
}

void OrderModel::add_alive(Terms& terms, std::uint32_t value, std::size_t step,
                           double factor) const {
  add_run(terms, problem_.values[value].producer, step, factor);
  if (preserved_[value][step] != kNoColumn) terms.push_back({preserved_[value][step], factor});
}

void OrderModel::add_in_place(Terms& terms, OpId op, std::size_t pair, std::size_t step,
                              double factor) const {
  const int column = written_over_[op][pair][step];
  if (column != kNoColumn) terms.push_back({column, factor});
}

void OrderModel::add_ops() {
  for (const Span& span : spans_) run_.push_back(columns(span.first, span.last, true));
  for (OpId op = 0; op < run_.size(); ++op) {
    Terms at_some_step;
    add_run_before(at_some_step, op, steps(), 1);
    program_.add_equation(at_some_step, 1);
    for (const OpId before : problem_.ops[op].predecessors) {
      for (std::size_t step = spans_[op].first; step <= spans_[op].last; ++step) {
        Terms too_early;
        add_run_before(too_early, op, step + 1, 1);
        add_run_before(too_early, before, step, -1);
        program_.add_row(too_early, 0);
      }
    }
  }
  for (std::size_t step = 0; step < steps(); ++step) {
    Terms some_op;
    for (OpId op = 0; op < run_.size(); ++op) add_run(some_op, op, step, 1);
    program_.add_equation(some_op, 1);
  }
}

void OrderModel::add_values() {
  for (std::uint32_t value = 0; value < problem_.values.size(); ++value) {
    const OrderProblem::Value& made = problem_.values[value];
    std::size_t last = made.kept ? steps() : 0;
    for (const OpId reader : made.readers) last = std::max(last, spans_[reader].last);
    preserved_.push_back(columns(spans_[made.producer].first + 1, last, false));
    for (const OpId reader : made.readers) preserve(value, reader);
    if (made.kept) preserve(value, kNoOp);
  }
}

// Preserved at each step before which the producer ran, but the reader did not.
void OrderModel::preserve(std::uint32_t value, OpId reader) {
  for (std::size_t step = 0; step < steps(); ++step) {
    if (preserved_[value][step] == kNoColumn) continue;
    Terms lacking = {{preserved_[value][step], -1}};
    add_run_before(lacking, problem_.values[value].producer, step, 1);
    if (reader != kNoOp) add_run_before(lacking, reader, step, -1);
    program_.add_row(lacking, 0);
  }
}

void OrderModel::add_pairs(OpId op) {
  written_over_.emplace_back();
  for (std::size_t pair = 0; pair < problem_.ops[op].in_place.size(); ++pair) {
    written_over_[op].push_back(columns(spans_[op].first, spans_[op].last, false));
    add_pair(op, pair);
  }
}

// Used if the op runs here, all other readers of the input ran before, and no pair in conflict that
// comes earlier in the sequence is used: in that case always, because execution does so.
void OrderModel::add_pair(OpId op, std::size_t pair) {
  const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
  for (std::size_t step = spans_[op].first; step <= spans_[op].last; ++step) {
    Terms unused;  // of a pair that may be used
    add_run(unused, op, step, 1);
    for (const OpId reader : problem_.values[pairs[pair].input].readers) {
      if (reader == op) continue;
      Terms too_early;
      add_in_place(too_early, op, pair, step, 1);
      add_run_before(too_early, reader, step, -1);
      program_.add_row(too_early, 0);
      add_run_before(unused, reader, step, 1);
    }
    const auto others = static_cast<double>(problem_.values[pairs[pair].input].readers.size() - 1);
    Terms elsewhere;
    add_in_place(elsewhere, op, pair, step, 1);
    add_run(elsewhere, op, step, -1);
    program_.add_row(elsewhere, 0);
    add_in_place(unused, op, pair, step, -1);
    for (std::size_t earlier = 0; earlier < pair; ++earlier) {
      if (!conflict(pairs[earlier], pairs[pair])) continue;
      add_in_place(unused, op, earlier, step, -1);
      Terms both;
      add_in_place(both, op, pair, step, 1);
      add_in_place(both, op, earlier, step, 1);
      add_run(both, op, step, -1);
      program_.add_row(both, 0);
    }
    program_.add_row(unused, others);
  }
}

void OrderModel::bound_bytes(int peak) {
  for (std::size_t step = 0; step < steps(); ++step) {
    Terms bytes = {{peak, -1}};
    for (std::uint32_t value = 0; value < problem_.values.size(); ++value) {
      add_alive(bytes, value, step, units(problem_.values[value].bytes));
    }
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      const OrderProblem::Op& run = problem_.ops[op];
      add_run(bytes, op, step, units(run.workspace_bytes));
      for (std::size_t pair = 0; pair < run.in_place.size(); ++pair) {
        const std::uint64_t saved = problem_.values[run.in_place[pair].output].bytes;
        add_in_place(bytes, op, pair, step, -units(saved));
      }
    }
    program_.add_row(bytes, 0);
  }
}

std::vector<OpId> OrderModel::order() const {
  const std::span<const double> solution = program_.solution();
  std::vector<OpId> order(steps(), kNoOp);
  for (OpId op = 0; op < run_.size(); ++op) {
    for (std::size_t step = 0; step < steps(); ++step) {
      const int column = run_[op][step];
      if (column != kNoColumn && solution[static_cast<std::size_t>(column)] > 0.5) order[step] = op;
    }
  }
  return order;
}

bool OrderModel::in_place(OpId op, std::size_t pair) const {
  const std::span<const double> solution = program_.solution();
  return std::ranges::any_of(written_over_[op][pair], [&](int column) {
    return column != kNoColumn && solution[static_cast<std::size_t>(column)] > 0.5;
  });
}

OrderAnswer order_program(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  std::vector<std::vector<OpId>> orders = {program_sequence(problem)};
  const std::uint64_t most = order_peak(problem, orders[0]);
  OrderModel model(problem, kName, kLimits);
  bool proved = false;
  if (options.time_limit_seconds.value_or(1) > 0 && most > 0) {
    IntegerProgram& program = model.program();
    model.bound_bytes(program.add_whole_column(0, model.units(most), 1));
    program.limit(options.time_limit_seconds, kNodesWithoutTimeLimit);
    program.solve();
    proved = program.proved_optimal();
    if (!program.solution().empty()) orders.push_back(model.order());
  }
  OrderAnswer answer = best_answer(problem, orders, kName);
  if (proved) answer.lower_bound = model.bytes(model.program().cost());
  answer.proved_optimal = answer.peak == answer.lower_bound;
  return answer;
}

}  // namespace skyline
