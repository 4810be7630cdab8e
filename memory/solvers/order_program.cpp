#include "memory/solvers/order_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "memory/errors.h"
#include "memory/order/baselines.h"
#include "memory/order/greedy_order.h"
#include "memory/planners/search.h"

namespace skyline {
namespace {

bool conflict(const OrderProblem::Pair& a, const OrderProblem::Pair& b) {
  return a.input == b.input || a.output == b.output;
}

constexpr std::string_view kOrderName = "olla-order";
// CBC's integer tolerance is 1e-7, and a value's life is a difference of two columns, so a step's
// bytes are off by less than half a unit: 2^20 units × 2 × 1e-7 = 0.21.
constexpr OrderModelLimits kOrderLimits{.ops = 256, .units = 1 << 20};
constexpr double kOrderRounding = 0.4;  // units
constexpr int kNodesWithoutTimeLimit = 20000;

}  // namespace

OrderModel::OrderModel(const OrderProblem& problem, std::string_view name,
                       const OrderModelLimits& limits)
    : problem_(problem), ancestors_(problem.ops.size()) {
  const std::size_t most = std::min(limits.ops, kMostOps);
  if (problem_.ops.size() > most) {
    throw GraphError(
        {.source = std::string(name),
         .problem = fmt::format("the graph is too large for this algorithm: ops, got {}, expected "
                                "at most {}",
                                problem_.ops.size(), most)});
  }
  choose_units(limits.units);
  find_spans();
  find_last_readers();
  one_ = program_.add_column(1, 1);
  add_ops();
  add_twins();
  for (std::uint32_t value = 0; value < problem_.values.size(); ++value) add_value(value);
  for (OpId op = 0; op < problem_.ops.size(); ++op) {
    written_over_.emplace_back();
    for (std::size_t pair = 0; pair < problem_.ops[op].in_place.size(); ++pair) add_pair(op, pair);
  }
}

void OrderModel::choose_units(std::uint64_t most) {
  std::uint64_t sum = 0, divisor = 0;
  const auto count = [&](std::uint64_t bytes) {
    sum += bytes;
    divisor = std::gcd(divisor, bytes);
  };
  for (const OrderProblem::Value& value : problem_.values) count(value.bytes);
  for (const OrderProblem::Op& op : problem_.ops) count(op.workspace_bytes);
  unit_ = std::max<std::uint64_t>(divisor, 1);
  exact_ = sum / unit_ <= most;
  if (!exact_) unit_ = (sum + most - 1) / most;
}

double OrderModel::units(std::uint64_t bytes) const { return static_cast<double>(bytes / unit_); }

double OrderModel::units_at_least(std::uint64_t bytes) const {
  return units(exact_ ? bytes + unit_ - 1 : bytes);
}

// The program's order respects all predecessors, so one pass finds the ancestors.
void OrderModel::find_spans() {
  const std::size_t ops = problem_.ops.size();
  std::vector<std::size_t> descendants(ops);
  for (OpId op = 0; op < ops; ++op) {
    for (const OpId before : problem_.ops[op].predecessors) {
      ancestors_[op] |= OpSet(ancestors_[before]).set(before);
    }
    for (OpId before = 0; before < op; ++before) descendants[before] += precedes(before, op);
  }
  for (OpId op = 0; op < ops; ++op) {
    spans_.push_back({ancestors_[op].count(), ops - 1 - descendants[op]});
  }
}

void OrderModel::find_last_readers() {
  for (const OrderProblem::Value& value : problem_.values) {
    last_readers_.emplace_back();
    for (const OpId reader : value.readers) {
      const bool needed =
          std::ranges::any_of(value.readers, [&](OpId other) { return precedes(reader, other); });
      if (!needed) last_readers_.back().push_back(reader);
    }
  }
}

OrderModel::Columns OrderModel::columns(std::size_t first, std::size_t last, bool whole) {
  Columns added(steps() + 1, kNoColumn);
  for (std::size_t step = first; step <= last; ++step) {
    added[step] = whole ? program_.add_whole_column(0, 1) : program_.add_column(0, 1);
  }
  return added;
}

void OrderModel::add_ran(Terms& terms, OpId op, std::size_t step, double factor) const {
  if (step > spans_[op].last) {
    terms.push_back({one_, factor});
  } else if (step > spans_[op].first) {
    terms.push_back({ran_[op][step], factor});
  }
}

void OrderModel::add_run(Terms& terms, OpId op, std::size_t step, double factor) const {
  if (step < spans_[op].first || step > spans_[op].last) return;
  add_ran(terms, op, step + 1, factor);
  add_ran(terms, op, step, -factor);
}

void OrderModel::add_alive(Terms& terms, std::uint32_t value, std::size_t step,
                           double factor) const {
  if (!alive_[value].empty()) {
    if (alive_[value][step] != kNoColumn) terms.push_back({alive_[value][step], factor});
    return;
  }
  const OrderProblem::Value& made = problem_.values[value];
  if (!made.kept && made.readers.empty()) return add_run(terms, made.producer, step, factor);
  add_ran(terms, made.producer, step + 1, factor);
  if (!made.kept) add_ran(terms, last_readers_[value].front(), step, -factor);
}

void OrderModel::add_in_place(Terms& terms, OpId op, std::size_t pair, std::size_t step,
                              double factor) const {
  const int column = written_over_[op][pair][step];
  if (column != kNoColumn) terms.push_back({column, factor});
}

void OrderModel::add_ops() {
  for (const Span& span : spans_) ran_.push_back(columns(span.first + 1, span.last, true));
  for (OpId op = 0; op < ran_.size(); ++op) {
    for (std::size_t step = spans_[op].first + 1; step < spans_[op].last; ++step) {
      program_.add_row(Terms{{ran_[op][step], 1}, {ran_[op][step + 1], -1}}, 0);
    }
    for (const OpId before : problem_.ops[op].predecessors) add_sequence(before, op);
  }
  for (std::size_t step = 1; step < steps(); ++step) {
    Terms ran;
    for (OpId op = 0; op < ran_.size(); ++op) add_ran(ran, op, step, 1);
    program_.add_equation(ran, static_cast<double>(step));
  }
}

void OrderModel::add_sequence(OpId before, OpId op) {
  for (std::size_t step = spans_[op].first; step <= spans_[op].last; ++step) {
    if (step > spans_[before].last) break;
    Terms too_early;
    add_ran(too_early, op, step + 1, 1);
    add_ran(too_early, before, step, -1);
    program_.add_row(too_early, 0);
  }
}

// Two such ops may change places in any order.
bool OrderModel::are_twins(OpId a, OpId b) const {
  const OrderProblem::Op &one = problem_.ops[a], &other = problem_.ops[b];
  return one.in_place.empty() && other.in_place.empty() && one.inputs == other.inputs &&
         one.predecessors == other.predecessors && one.successors == other.successors &&
         one.workspace_bytes == other.workspace_bytes &&
         std::ranges::equal(one.outputs, other.outputs, [this](std::uint32_t x, std::uint32_t y) {
           const OrderProblem::Value &first = problem_.values[x], &second = problem_.values[y];
           return first.bytes == second.bytes && first.kept == second.kept &&
                  first.readers == second.readers;
         });
}

void OrderModel::add_twins() {
  for (OpId op = 0; op < problem_.ops.size(); ++op) {
    for (OpId before = op; before-- > 0;) {
      if (!are_twins(before, op)) continue;
      add_sequence(before, op);
      break;
    }
  }
}

void OrderModel::add_value(std::uint32_t value) {
  alive_.emplace_back();
  const OrderProblem::Value& made = problem_.values[value];
  const std::vector<OpId>& readers = last_readers_[value];
  if (made.kept || readers.size() < 2) return;
  std::size_t last = 0;
  for (const OpId reader : readers) last = std::max(last, spans_[reader].last);
  alive_.back() = columns(spans_[made.producer].first, last, false);
  for (std::size_t step = spans_[made.producer].first; step <= last; ++step) {
    for (const OpId reader : readers) {
      Terms lacking = {{alive_.back()[step], -1}};
      add_ran(lacking, made.producer, step + 1, 1);
      add_ran(lacking, reader, step, -1);
      program_.add_row(lacking, 0);
    }
  }
}

// Used if the op runs here, all other readers of the input ran before, and no pair in conflict that
// comes earlier in the sequence is used: in that case always, because execution does so.
void OrderModel::add_pair(OpId op, std::size_t pair) {
  written_over_[op].push_back(columns(spans_[op].first, spans_[op].last, false));
  const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
  for (std::size_t step = spans_[op].first; step <= spans_[op].last; ++step) {
    Terms unused;  // of a pair that may be used
    add_run(unused, op, step, 1);
    double others = 0;
    for (const OpId reader : problem_.values[pairs[pair].input].readers) {
      if (reader == op || precedes(reader, op)) continue;
      Terms too_early;
      add_in_place(too_early, op, pair, step, 1);
      add_ran(too_early, reader, step, -1);
      program_.add_row(too_early, 0);
      add_ran(unused, reader, step, 1);
      ++others;
    }
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

int OrderModel::add_peak(std::uint64_t least, std::uint64_t most) {
  const int peak = program_.add_whole_column(units_at_least(least), units(most), 1);
  for (std::size_t step = 0; step < steps(); ++step) {
    Terms bytes = {{peak, -1}};
    for (std::uint32_t value = 0; value < problem_.values.size(); ++value) {
      const double size = units(problem_.values[value].bytes);
      if (size > 0) add_alive(bytes, value, step, size);
    }
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      const OrderProblem::Op& run = problem_.ops[op];
      if (run.workspace_bytes > 0) add_run(bytes, op, step, units(run.workspace_bytes));
      for (std::size_t pair = 0; pair < run.in_place.size(); ++pair) {
        const std::uint64_t saved = problem_.values[run.in_place[pair].output].bytes;
        add_in_place(bytes, op, pair, step, -units(saved));
      }
    }
    program_.add_row(bytes, 0);
  }
  return peak;
}

void OrderModel::start_from(std::span<const OpId> order, int peak, std::uint64_t bytes) {
  program_.start_column(peak, units(bytes));
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (std::size_t step = 0; step <= steps(); ++step) {
      const int column = ran_[order[at]][step];
      if (column != kNoColumn) program_.start_column(column, at < step ? 1 : 0);
    }
  }
}

std::uint64_t OrderModel::solve(const std::optional<double>& seconds, int nodes) {
  program_.limit(seconds, nodes);
  program_.solve();
  const double bound = std::ceil(program_.bound() - kOrderRounding);
  return bound > 0 ? static_cast<std::uint64_t>(bound) * unit_ : 0;
}

std::vector<OpId> OrderModel::order() const {
  const std::span<const double> solution = program_.solution();
  if (solution.empty()) return {};
  std::vector<OpId> order(steps(), kNoOp);
  for (OpId op = 0; op < ran_.size(); ++op) {
    std::size_t step = spans_[op].first;
    while (step < spans_[op].last && solution[static_cast<std::size_t>(ran_[op][step + 1])] < 0.5) {
      ++step;
    }
    order[step] = op;
  }
  return order;
}

OrderAnswer order_program(const StepGraph& graph, const OrderOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds);
  const OrderProblem problem = order_problem(graph, options);
  OrderModel model(problem, kOrderName, kOrderLimits);
  std::vector<std::vector<OpId>> orders = {program_sequence(problem), early_sequence(problem),
                                           greedy_order(problem, TieRule::kProgramFirst),
                                           greedy_order(problem, TieRule::kProgramLast),
                                           delayed(problem, program_sequence(problem))};
  OrderAnswer answer = best_answer(problem, orders, kOrderName);
  if (passed(deadline) || answer.peak == 0) return answer;
  const int peak = model.add_peak(answer.lower_bound, answer.peak);
  model.start_from(answer.order, peak, answer.peak);
  if (answer.proved_optimal) model.program().search_plainly();
  const std::uint64_t bound = model.solve(deadline.seconds_left(), kNodesWithoutTimeLimit);
  if (const std::vector<OpId> found = model.order(); !found.empty()) {
    answer = best_answer(problem, std::vector{std::move(answer.order), found}, kOrderName);
  }
  answer.lower_bound = std::min(std::max(answer.lower_bound, bound), answer.peak);
  answer.proved_optimal = answer.peak == answer.lower_bound;
  return answer;
}

}  // namespace skyline
