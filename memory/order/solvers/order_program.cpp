#include "memory/order/solvers/order_program.h"

#include <vector>

#include "memory/order/baselines/baseline_answer.h"
#include "memory/order/order_walk.h"
#include "memory/order/solvers/order_model.h"

namespace skyline {
namespace {

constexpr std::string_view kName = "olla-order";
// CBC's integer tolerance is 1e-7. A step's bytes are off by less than half a unit:
// 2^16 units × 2 × 30 steps × 1e-7 = 0.39.
constexpr OrderModelLimits kLimits{.ops = 30, .units = 1 << 16};
constexpr int kNodesWithoutTimeLimit = 20000;

}  // namespace

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
