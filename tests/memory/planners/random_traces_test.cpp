// Every planner on small random traces. plan() throws if the validator rejects a plan, so returning
// means valid.
#include <gtest/gtest.h>

#include <optional>

#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/exhaustive.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/planners/plan_with.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

const std::uint64_t kTraces = cases(10'000, 100'000);
constexpr std::size_t kMostBlocksForSolvers = 9;
// A proof takes long where the lower bound is out of reach, as it is with fixed offsets.
constexpr std::size_t kMostBlocksForProofs = 11;
constexpr std::size_t kMostBlocksForProofsWhenFixed = 8;

bool is_solver(const PlannerEntry& entry) { return entry.name == "mip" || entry.name == "smt"; }

// Solvers take milliseconds for most traces and minutes for some, so they get one in many, and only
// the smallest. The numbers are prime, so that all kinds occur.
bool is_for_solvers(std::uint64_t seed, const Trace& trace) {
  return seed % cases(397, 199) == 0 && trace.size() <= kMostBlocksForSolvers;
}

bool is_for_proofs(const Trace& trace) {
  return trace.size() <=
         (trace.has_fixed_offsets() ? kMostBlocksForProofsWhenFixed : kMostBlocksForProofs);
}

// Small traces of all kinds, some with gaps, fixed offsets or alignments.
Trace small_trace(std::uint64_t seed, std::uint64_t alignment) {
  Trace trace = seed % 4 == 0   ? training_trace(seed, 1 + seed % 4, 50)
                : seed % 4 == 1 ? short_lived_trace(seed, 1 + seed % 13, 12, 20)
                                : random_trace(seed, 1 + seed % 13, 16, 20);
  if (seed % 5 == 0) trace = with_gaps(std::move(trace), seed);
  if (seed % 7 == 0) trace = with_fixed_offsets(std::move(trace), seed, alignment);
  if (seed % 11 < 4) trace = with_alignments(std::move(trace), seed);
  return trace;
}

void expect_sound(const Plan& found, const std::optional<Plan>& best) {
  ASSERT_GE(found.peak, found.lower_bound);
  ASSERT_GE(found.proved_bound, found.lower_bound);
  ASSERT_EQ(found.proved_optimal, found.peak == found.proved_bound);
  if (!best) return;
  ASSERT_LE(best->peak, found.peak) << "the portfolio is above this";
  ASSERT_LE(best->proved_bound, found.peak);
}

// Empty if the portfolio cannot plan this trace.
std::optional<Plan> plan_of_the_portfolio(const Trace& trace, const PlanOptions& options) {
  if (trace.has_fixed_offsets() && !all_planners().front().keeps_fixed_offsets) return {};
  return plan_with(trace, kDefaultPlanner, options);
}

TEST(RandomTraces, EveryPlannerIsValidAndNoneBeatsThePortfolio) {
  for (const std::uint64_t seed : seeds(kTraces)) {
    const PlanOptions options{.alignment = 1 + seed % 3, .seed = seed};
    const Trace trace = small_trace(seed, options.alignment);
    const bool fixed = trace.has_fixed_offsets();
    const std::optional<Plan> best = plan_of_the_portfolio(trace, options);
    for (const PlannerEntry& entry : all_planners()) {
      if (fixed && !entry.keeps_fixed_offsets) continue;
      if (is_solver(entry) && !is_for_solvers(seed, trace)) continue;
      if (entry.name == "exact" && !is_for_proofs(trace)) continue;
      SCOPED_TRACE(testing::Message() << entry.name << ", seed " << seed);
      expect_sound(plan_with(trace, entry.name, options), best);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RandomTraces, TwoThreadsPlanAsOne) {
  for (const std::uint64_t seed : seeds(2000)) {
    const PlanOptions one{.alignment = 1, .seed = seed};
    PlanOptions two = one;
    two.threads = 2;
    const Trace trace = short_lived_trace(seed, 10 + seed % 20, 12, 20);
    for (const PlannerEntry& entry : all_planners()) {
      if (is_solver(entry)) continue;
      const Plan once = plan_with(trace, entry.name, one);
      const Plan twice = plan_with(trace, entry.name, two);
      ASSERT_EQ(once.offsets, twice.offsets) << entry.name << ", seed " << seed;
      ASSERT_EQ(once.planner, twice.planner) << entry.name << ", seed " << seed;
      ASSERT_EQ(once.proved_bound, twice.proved_bound) << entry.name << ", seed " << seed;
    }
  }
}

TEST(RandomTraces, NoneIsBelowExhaustiveSearch) {
  int optimal = 0, traces = 0;
  for (const std::uint64_t seed : seeds(3000)) {
    Trace trace = short_lived_trace(seed, 1 + seed % 7, 10, 9);
    if (seed % 3 == 0) trace = with_gaps(std::move(trace), seed);
    const std::uint64_t least = optimum(trace);
    for (const PlannerEntry& entry : all_planners()) {
      if (is_solver(entry)) continue;
      const Plan found = plan_with(trace, entry.name, {.alignment = 1});
      ASSERT_GE(found.peak, least) << entry.name << ", seed " << seed;
      ASSERT_LE(found.proved_bound, least) << entry.name << ", seed " << seed;
      if (entry.name == kDefaultPlanner) optimal += found.peak == least;
    }
    ++traces;
  }
  EXPECT_GE(optimal, traces * 99 / 100) << "the portfolio packs seven blocks optimally";
}

}  // namespace
}  // namespace skyline
