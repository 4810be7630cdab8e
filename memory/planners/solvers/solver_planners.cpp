#include "memory/planners/solvers/solver_planners.h"

#include <vector>

#include "memory/planners/solvers/mip.h"
#include "memory/planners/solvers/smt.h"

namespace skyline {
namespace {

constexpr PlannerEntry kSolvers[] = {
    {"mip", "PGMO's mixed-integer program, solved by COIN-OR CBC; for small traces", mip, true},
    {"smt", "PGMO's program in difference logic, solved by Z3; for small traces", smt, true},
};

}  // namespace

PlannerTable all_planners() {
  static const std::vector<PlannerEntry> all = [] {
    std::vector<PlannerEntry> entries(planners().begin(), planners().end());
    entries.insert(entries.end(), std::begin(kSolvers), std::end(kSolvers));
    return entries;
  }();
  return all;
}

}  // namespace skyline
