#include "memory/solvers/solvers.h"

#include <span>
#include <vector>

#include "memory/solvers/joint_program.h"
#include "memory/solvers/order_program.h"
#include "memory/solvers/pair_programs.h"

namespace skyline {
namespace {

constexpr PlannerEntry kSolverPlanners[] = {
    {"mip", "PGMO's mixed-integer program, solved by COIN-OR CBC; for small traces", mip, true},
    {"smt", "PGMO's program in difference logic, solved by Z3; for small traces", smt, true},
};

constexpr OrderEntry kSolverOrders[] = {
    {"olla-order", "OLLA's integer program for the order, solved by COIN-OR CBC; to 256 ops",
     order_program},
    {"olla-joint", "OLLA's integer program for order and addresses at once, by CBC; to 64 ops",
     joint_program},
};

template <typename Entry, std::size_t count>
std::vector<Entry> extended(std::span<const Entry> table, const Entry (&more)[count]) {
  std::vector<Entry> all(table.begin(), table.end());
  all.insert(all.end(), std::begin(more), std::end(more));
  return all;
}

}  // namespace

PlannerTable all_planners() {
  static const std::vector<PlannerEntry> all = extended(planners(), kSolverPlanners);
  return all;
}

OrderTable all_order_algorithms() {
  static const std::vector<OrderEntry> all = extended(order_algorithms(), kSolverOrders);
  return all;
}

}  // namespace skyline
