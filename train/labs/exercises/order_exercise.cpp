#include "train/labs/exercises/exercises.h"

#include <numeric>

namespace skyline {

// Begins with the program's order.
std::vector<OpId> order_exercise(const StepGraph& graph) {
  std::vector<OpId> order(graph.ops.size());
  std::iota(order.begin(), order.end(), OpId{0});
  return order;
}

}  // namespace skyline
