#include "memory/order/solvers/solver_orders.h"

#include <vector>

#include "memory/order/solvers/joint_program.h"
#include "memory/order/solvers/order_program.h"

namespace skyline {
namespace {

constexpr OrderEntry kSolvers[] = {
    {"olla-order", "OLLA's integer program for the order, solved by COIN-OR CBC; to 30 ops",
     order_program},
    {"olla-joint", "OLLA's integer program for order and addresses at once, by CBC; to 8 ops",
     joint_program},
};

}  // namespace

OrderTable all_order_algorithms() {
  static const std::vector<OrderEntry> all = [] {
    std::vector<OrderEntry> entries(order_algorithms().begin(), order_algorithms().end());
    entries.insert(entries.end(), std::begin(kSolvers), std::end(kSolvers));
    return entries;
  }();
  return all;
}

}  // namespace skyline
