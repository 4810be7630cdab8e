#include "memory/planners/registry.h"

#include <fmt/core.h>

#include <stdexcept>

#include "memory/now_seconds.h"
#include "memory/planners/exact/exact.h"
#include "memory/planners/holes/hill_climb.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/portfolio.h"
#include "memory/planners/regions.h"
#include "memory/planners/skyline/best_fit.h"
#include "memory/planners/skyline/restarts.h"
#include "memory/validator.h"

namespace skyline {
namespace {

constexpr PlannerEntry kPlanners[] = {
    {"portfolio",
     "runs those from best-fit to exact, cheapest first, until one reaches the lower bound",
     portfolio, true},
    {"best-fit", "PGMO's heuristic: lowest line, longest lifetime that fits", best_fit},
    {"best-fit-by-size", "lowest line, largest block that fits", best_fit_by_size},
    {"best-fit-by-area", "lowest line, block of most bytes × ticks that fits", best_fit_by_area},
    {"greedy-by-size", "largest first, each in the lowest hole that fits", greedy_by_size, true},
    {"greedy-by-lifetime", "longest-lived first, each in the smallest hole that fits",
     greedy_by_lifetime, true},
    {"program-order", "in the order of requests, each in the smallest hole that fits",
     program_order, true},
    {"hill-climb", "swaps blocks in a greedy planner's order, keeps what helps", hill_climb, true},
    {"restarts", "repeats best-fit with random sort keys", restarts},
    {"exact", "branch and bound over canonical packings; proves bounds", exact, true},
    {"pyramid", "OLLA's nested long-lived blocks at the bottom, then best-fit on the rest",
     pyramid},
    {"box", "MXNet's box of free regions: the smallest that fits, else the largest one grows", box},
    {"box-fixed", "the smallest free region that fits, else a new one; none grows", box_fixed},
    {"colouring", "MXNet's conflict graph, largest first; each colour is a region", colouring},
};

const PlannerEntry& find_planner(PlannerTable table, std::string_view name) {
  for (const PlannerEntry& entry : table) {
    if (entry.name == name) return entry;
  }
  throw std::invalid_argument(fmt::format("unknown planner \"{}\"", name));
}

}  // namespace

PlannerTable planners() { return kPlanners; }

Plan plan(const Trace& trace, std::string_view planner, const PlanOptions& options,
          PlannerTable table) {
  const PlannerEntry& entry = find_planner(table, planner);
  require_sound(trace);
  if (trace.has_fixed_offsets() && !entry.keeps_fixed_offsets) {
    throw std::invalid_argument(
        fmt::format("planner {} cannot keep the fixed offsets of this trace", planner));
  }
  const double start = now_seconds();
  Plan found = entry.function(trace, options);
  const double planned = now_seconds();
  const Validity verdict = validate(trace, found);
  found.seconds = planned - start;
  found.validation_seconds = now_seconds() - planned;
  if (!verdict.valid) {
    throw std::logic_error(
        fmt::format("planner {} returned an invalid plan: {}", found.planner, verdict.reason));
  }
  return found;
}

}  // namespace skyline
