#include "memory/solvers/joint_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memory/order/baselines.h"
#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/planners/registry.h"
#include "memory/solvers/order_program.h"
#include "memory/solvers/pair_programs.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"

namespace skyline {
namespace {

constexpr std::string_view kName = "olla-joint";
constexpr OrderModelLimits kLimits{.ops = 8, .units = 1 << 16};
constexpr PairModelLimits kTraceLimits{.blocks = 1000, .pairs = 20000};  // never reached by 8 ops
constexpr int kNodesWithoutTimeLimit = 200000;

using Terms = IntegerProgram::Terms;

// An address for each value and each op's workspace, on top of an OrderModel. Blocks are numbered:
// first the values, then the workspaces by op.
class Addresses {
 public:
  // Some order has a plan of `most` bytes, and none has one below `least`.
  Addresses(OrderModel& model, std::uint64_t least, std::uint64_t most)
      : model_(model), problem_(model.problem()), most_(model.units(most)) {
    const int peak = program().add_whole_column(model_.units(least), most_, 1);
    model_.bound_bytes(peak);
    for (std::size_t block = 0; block < blocks(); ++block) {
      addresses_.push_back(program().add_column(0, most_ - size(block)));
      program().add_row(Terms{{addresses_[block], 1}, {peak, -1}}, -size(block));
    }
    for (std::size_t i = 0; i < blocks(); ++i) {
      for (std::size_t j = i + 1; j < blocks(); ++j) separate(i, j);
    }
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      for (std::size_t pair = 0; pair < problem_.ops[op].in_place.size(); ++pair) join(op, pair);
    }
  }

  // Returns the solution's addresses in units, in the sequence of the order's requests.
  std::vector<double> by_request(const std::vector<OpId>& order) const {
    std::vector<double> found;
    const auto add = [&](std::size_t block) {
      found.push_back(model_.program().solution()[static_cast<std::size_t>(addresses_[block])]);
    };
    for (const OpId op : order) {
      for (const std::uint32_t output : problem_.ops[op].outputs) {
        if (size(output) > 0 && !written_in_place(op, output)) add(output);
      }
      if (problem_.ops[op].workspace_bytes > 0) add(workspace_of(op));
    }
    return found;
  }

 private:
  IntegerProgram& program() { return model_.program(); }
  std::size_t blocks() const { return problem_.values.size() + problem_.ops.size(); }
  std::size_t workspace_of(OpId op) const { return problem_.values.size() + op; }

  double size(std::size_t block) const {
    const std::size_t values = problem_.values.size();
    return model_.units(block < values ? problem_.values[block].bytes
                                       : problem_.ops[block - values].workspace_bytes);
  }

  void add_alive(Terms& terms, std::size_t block, std::size_t step) const {
    const std::size_t values = problem_.values.size();
    if (block < values) {
      model_.add_alive(terms, static_cast<std::uint32_t>(block), step, 1);
    } else {
      model_.add_run(terms, static_cast<OpId>(block - values), step, 1);
    }
  }

  // One lies above the other if both are alive at a step, unless one is written over the other.
  void separate(std::size_t i, std::size_t j) {
    if (size(i) == 0 || size(j) == 0) return;
    const int below = program().add_whole_column(0, 1), above = program().add_whole_column(0, 1);
    const int a = addresses_[i], b = addresses_[j];
    program().add_row(Terms{{a, 1}, {b, -1}, {below, most_}}, most_ - size(i));
    program().add_row(Terms{{b, 1}, {a, -1}, {above, most_}}, most_ - size(j));
    for (std::size_t step = 0; step < model_.steps(); ++step) {
      Terms meet = {{below, -1}, {above, -1}};
      add_alive(meet, i, step);
      add_alive(meet, j, step);
      subtract_in_place(meet, i, j, step);
      program().add_row(meet, 1);
    }
  }

  void subtract_in_place(Terms& terms, std::size_t i, std::size_t j, std::size_t step) const {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
      for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
        const std::size_t input = pairs[pair].input, output = pairs[pair].output;
        if (std::minmax(input, output) == std::minmax(i, j)) {
          model_.add_in_place(terms, op, pair, step, -1);
        }
      }
    }
  }

  // The output has the input's address if it is written over it.
  void join(OpId op, std::size_t pair) {
    const OrderProblem::Pair& in_place = problem_.ops[op].in_place[pair];
    const int a = addresses_[in_place.input], b = addresses_[in_place.output];
    for (const auto& [high, low] : {std::pair(a, b), std::pair(b, a)}) {
      Terms apart = {{high, 1}, {low, -1}};
      for (std::size_t step = 0; step < model_.steps(); ++step) {
        model_.add_in_place(apart, op, pair, step, most_);
      }
      program().add_row(apart, most_);
    }
  }

  bool written_in_place(OpId op, std::uint32_t output) const {
    const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      if (pairs[pair].output == output && model_.in_place(op, pair)) return true;
    }
    return false;
  }

  OrderModel& model_;
  const OrderProblem& problem_;
  const double most_;           // units
  std::vector<int> addresses_;  // columns, by block
};

// CBC's answer. Without one, the order is the program's and there are no addresses.
struct Solution {
  std::vector<OpId> order;
  std::vector<double> addresses = {};              // in units, by request
  std::optional<std::uint64_t> proved_bytes = {};  // the least peak address of all orders
};

// No plan is below `least` bytes; the program's order has one of `most`.
Solution solve(const OrderProblem& problem, std::uint64_t least, std::uint64_t most,
               const OrderOptions& options) {
  Solution found{.order = program_sequence(problem)};
  OrderModel model(problem, kName, kLimits);
  if (options.time_limit_seconds.value_or(1) <= 0 || most == 0) return found;
  const Addresses addresses(model, least, most);
  IntegerProgram& program = model.program();
  program.limit(options.time_limit_seconds, kNodesWithoutTimeLimit);
  program.solve();
  if (program.solution().empty()) return found;
  found.order = model.order();
  found.addresses = addresses.by_request(found.order);
  if (program.proved_optimal()) found.proved_bytes = model.bytes(program.cost());
  return found;
}

// As in `mip`, the addresses only give the sequence in which blocks are placed, each as low as it
// goes, so that CBC's rounding does no harm.
Plan place(const Trace& trace, const Solution& solution, const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  PairModel pairs(packing, kName, kTraceLimits);
  if (!solution.addresses.empty()) pairs.offer(solution.addresses);
  if (solution.proved_bytes) pairs.prove(pairs.to_units(*solution.proved_bytes));
  return pairs.plan(options);
}

}  // namespace

// A plan needs at least the least peak of all orders, so that is found first.
JointSolution solve_joint_program(const StepGraph& graph, const OrderOptions& all_options) {
  OrderOptions options = all_options;
  if (options.time_limit_seconds) *options.time_limit_seconds /= 2;
  const OrderProblem problem = order_problem(graph, options);
  { const OrderModel refuses_large_graphs(problem, kName, kLimits); }
  const std::vector<OpId> as_written = program_sequence(problem);
  const PlanOptions plan_options{.alignment = options.alignment};
  const Plan simple = plan(trace_of_order(graph, as_written, options), "best-fit", plan_options);
  const Solution solution =
      solve(problem, order_program(graph, options).lower_bound, simple.peak, options);
  const Trace trace = trace_of_order(graph, solution.order, options);
  JointSolution result{.order = best_answer(problem, std::array{solution.order}, kName),
                       .plan = place(trace, solution, plan_options)};
  const Validity verdict = validate(trace, result.plan);
  if (!verdict.valid) {
    throw std::logic_error(fmt::format("{} returned an invalid plan: {}", kName, verdict.reason));
  }
  return result;
}

OrderAnswer joint_program(const StepGraph& graph, const OrderOptions& options) {
  return solve_joint_program(graph, options).order;
}

Plan location_program(const StepGraph& graph, std::span<const OpId> order,
                      const OrderOptions& options) {
  return plan(trace_of_order(graph, order, options), "mip",
              {.alignment = options.alignment, .time_limit_seconds = options.time_limit_seconds},
              all_planners());
}

}  // namespace skyline
