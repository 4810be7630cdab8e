#include "memory/planners/planner.h"

#include <fmt/core.h>

#include <chrono>
#include <stdexcept>

#include "memory/planners/exact/exact.h"
#include "memory/planners/holes/greedy.h"
#include "memory/planners/holes/hill_climb.h"
#include "memory/planners/holes/program_order.h"
#include "memory/planners/portfolio.h"
#include "memory/planners/skyline/best_fit.h"
#include "memory/planners/skyline/restarts.h"
#include "memory/planners/solvers/mip.h"
#include "memory/planners/solvers/smt.h"
#include "memory/validator.h"

namespace skyline {
namespace {

constexpr PlannerEntry kPlanners[] = {
    {"portfolio", "all below but mip and smt, cheapest first, until the lower bound is reached",
     portfolio, true},
    {"best-fit", "PGMO's heuristic: lowest line, longest lifetime that fits", best_fit},
    {"best-fit-by-size", "the same, largest block that fits", best_fit_by_size},
    {"best-fit-by-area", "the same, most bytes × ticks that fit", best_fit_by_area},
    {"greedy-by-size", "largest first, each in the lowest gap that fits", greedy_by_size, true},
    {"greedy-by-lifetime", "longest-lived first, each in the smallest gap that fits",
     greedy_by_lifetime, true},
    {"program-order", "in the order of requests, each in the smallest gap that fits", program_order,
     true},
    {"hill-climb", "exchanges in the order of a greedy planner", hill_climb, true},
    {"restarts", "best-fit again and again with random keys", restarts},
    {"exact", "branch and bound over canonical packings, with proofs", exact, true},
    {"mip", "PGMO's mixed-integer program, given to COIN-OR CBC; for small traces", mip, true},
    {"smt", "the same in difference logic, given to Z3; for small traces", smt, true},
};

const PlannerEntry& planner_named(std::string_view name) {
  for (const PlannerEntry& entry : kPlanners) {
    if (entry.name == name) return entry;
  }
  throw std::invalid_argument(fmt::format("no planner is called \"{}\"", name));
}

}  // namespace

std::span<const PlannerEntry> planners() { return kPlanners; }

Plan plan(const Trace& trace, std::string_view planner, const PlanOptions& options) {
  const PlannerEntry& entry = planner_named(planner);
  require_sound(trace);
  if (trace.has_fixed_offsets() && !entry.keeps_fixed_offsets) {
    throw std::invalid_argument(
        fmt::format("planner {} cannot keep fixed offsets, and the trace has some", planner));
  }
  const auto start = std::chrono::steady_clock::now();
  Plan found = entry.function(trace, options);
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Validity verdict = validate(trace, found);
  if (!verdict.valid) {
    throw std::logic_error(
        fmt::format("planner {} returned an invalid plan: {}", found.planner, verdict.reason));
  }
  return found;
}

}  // namespace skyline
