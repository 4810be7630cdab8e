#include "memory/order/baselines/as_written.h"

#include <array>

#include "memory/order/baselines/baseline_answer.h"
#include "memory/order/order_walk.h"

namespace skyline {

OrderAnswer order_as_written(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  return best_answer(problem, std::array{program_sequence(problem)}, "program");
}

}  // namespace skyline
