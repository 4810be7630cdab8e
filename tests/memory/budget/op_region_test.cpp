// Regions of random steps that may run in rounds: exhaustive search and an integer program lie
// above the least of the bounds, and each bound alone would prove too much.

#include "memory/budget/op_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_checker.h"
#include "memory/budget/budget_curve.h"
#include "memory/errors.h"
#include "memory/solvers/chain_bound.h"
#include "tests/memory/budget/checkmate_program.h"
#include "tests/memory/budget/exhaustive_budget.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr double kRegionRounding = 1e-5;  // seconds
constexpr double kInfinite = std::numeric_limits<double>::infinity();

double seconds_of(const BudgetProblem& problem) {
  return std::accumulate(problem.seconds.begin(), problem.seconds.end(), 0.0);
}

// Marks an op and those that need what it writes.
std::vector<char> followers(const StepGraph& graph, OpId first) {
  std::vector<char> written(graph.values.size()), follows(graph.ops.size());
  for (OpId op = first; op < graph.ops.size(); ++op) {
    const auto is_written = [&](ValueId value) { return written[value] != 0; };
    follows[op] = op == first || std::ranges::any_of(graph.ops[op].inputs, is_written);
    if (!follows[op]) continue;
    for (const ValueId output : graph.ops[op].outputs) written[output] = true;
  }
  return follows;
}

// A step and one of its regions: two ops of one phase and all on paths between them, or all ops
// between them in the program's sequence, in two numbers of rounds.
struct RegionCase {
  BudgetProblem problem;
  std::vector<OpRegion> regions;

  static RegionCase draw(std::uint64_t seed, int layers, bool contiguous = false) {
    RegionCase drawn{.problem = RandomBudgetProblem(seed).draw(layers), .regions = {}};
    drawn.problem.recomputes_each = true;
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
    const StepGraph& graph = drawn.problem.graph;
    const bool forward = below(2) == 0;
    const OpId begin = forward ? 1 : drawn.problem.backward;  // the input is not recomputed
    const std::size_t count = (forward ? drawn.problem.backward : graph.ops.size()) - begin;
    const auto last = static_cast<OpId>(begin + 1 + below(count - 1));
    const auto first = static_cast<OpId>(begin + below(last - begin));
    const std::vector<char> after = followers(graph, first);
    OpRegion region;
    for (OpId op = first; op <= last; ++op) {
      const bool on_a_path = after[op] && followers(graph, op)[last];
      if (op == first || op == last || contiguous || on_a_path) region.ops.push_back(op);
    }
    std::set<ValueId> inputs, outputs;
    double seconds = 0;
    std::uint64_t bytes = 0;
    for (const OpId op : region.ops) {
      inputs.insert(graph.ops[op].inputs.begin(), graph.ops[op].inputs.end());
      outputs.insert(graph.ops[op].outputs.begin(), graph.ops[op].outputs.end());
      for (const ValueId output : graph.ops[op].outputs) bytes += graph.values[output].bytes;
      seconds += drawn.problem.seconds[op];
    }
    std::ranges::set_difference(inputs, outputs, std::back_inserter(region.inputs));
    for (const ValueId input : region.inputs) {
      for (const ValueId output : outputs) {
        const bool equal = graph.values[input].bytes == graph.values[output].bytes;
        if (equal && below(2) == 0) region.in_place.push_back({input, output});
      }
    }
    for (const std::uint64_t rounds : {2, 4}) {
      region.rounds.push_back({.count = rounds,
                               .workspace_bytes = bytes / rounds / 500 * 500,
                               .seconds = seconds + static_cast<double>(below(4)) - 1});
    }
    drawn.regions.push_back(region);
    return drawn;
  }

  // The step in any rounds; null for regions that write over inputs.
  std::unique_ptr<BudgetProblem> relaxed() const {
    if (!regions.front().in_place.empty()) return nullptr;
    std::vector<std::uint32_t> groups(problem.graph.ops.size(), kNoGroup);
    for (const OpId op : regions.front().ops) groups[op] = 0;
    return std::make_unique<BudgetProblem>(in_any_rounds(problem, groups));
  }

  // `shares`: as for bounds.
  std::vector<BudgetProblem> steps(bool shares) const {
    std::vector<BudgetProblem> steps;
    for (const RoundsChoice& choice : rounds_choices(regions, 3)) {
      steps.push_back(in_rounds(problem, regions, choice, shares).problem);
    }
    return steps;
  }
};

// All steps of a case, with their bounds and their best choices. Seconds are beyond the whole step.
class AllRounds {
 public:
  explicit AllRounds(const RegionCase& drawn)
      : steps_(drawn.steps(false)), relaxed_(drawn.steps(true)) {
    if ((any_ = drawn.relaxed())) bound_of_any_.emplace(*any_);
    for (const BudgetProblem& step : steps_) {
      slower_.push_back(seconds_of(step) - seconds_of(drawn.problem));
      best_.emplace_back(step);
    }
    for (const BudgetProblem& step : relaxed_) {
      bounds_.push_back(std::make_unique<BudgetBound>(step));
      chains_.push_back(std::make_unique<ChainBound>(step, *bounds_.back()));
    }
  }

  double bound(std::uint64_t bytes) { return least(bounds_, bytes); }
  double bound_by_chains(std::uint64_t bytes) { return least(chains_, bytes); }
  // No bound where an op in rounds is faster than its ops, or writes over an input.
  double bound_in_any_rounds(std::uint64_t bytes) {
    const bool holds = bound_of_any_ && std::ranges::min(slower_) >= 0;
    return holds ? ChainBound(*any_, *bound_of_any_).extra_seconds(bytes) : -kInfinite;
  }
  double best(std::uint64_t bytes) const {
    double least = kInfinite;
    for (std::size_t k = 0; k < best_.size(); ++k) {
      least = std::min(least, slower_[k] + best_[k].extra_seconds(bytes));
    }
    return least;
  }
  double best_whole(std::uint64_t bytes) const { return best_.front().extra_seconds(bytes); }
  std::set<std::uint64_t> peaks() const {
    std::set<std::uint64_t> peaks;
    for (const ExhaustiveBudget& best : best_) {
      for (const auto& [bytes, seconds] : best.points()) peaks.insert(bytes);
    }
    return peaks;
  }
  const std::vector<BudgetProblem>& steps() const { return steps_; }

 private:
  template <class Bounds>
  double least(Bounds& bounds, std::uint64_t bytes) {
    double least = kInfinite;
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      least = std::min(least, slower_[k] + bounds[k]->extra_seconds(bytes));
    }
    return least;
  }

  std::vector<BudgetProblem> steps_, relaxed_;
  std::unique_ptr<BudgetProblem> any_;
  std::optional<BudgetBound> bound_of_any_;
  std::vector<double> slower_;
  std::vector<std::unique_ptr<BudgetBound>> bounds_;
  std::vector<std::unique_ptr<ChainBound>> chains_;
  std::vector<ExhaustiveBudget> best_;
};

TEST(OpRegions, NeverBeatTheLeastBoundOfTheirSteps) {
  std::size_t budgets = 0, by_rounds = 0, proved = 0;
  for (const std::uint64_t seed : seeds(2000)) {
    const RegionCase drawn = RegionCase::draw(seed, 4);
    AllRounds rounds(drawn);
    for (const std::uint64_t bytes : rounds.peaks()) {
      const double best = rounds.best(bytes);
      ASSERT_LE(rounds.bound(bytes), best + 1e-6) << "seed " << seed << ", " << bytes << " bytes";
      ASSERT_LE(rounds.bound_by_chains(bytes), best + 1e-6)
          << "seed " << seed << ", " << bytes << " bytes";
      ASSERT_LE(rounds.bound_in_any_rounds(bytes), best + 1e-6)
          << "seed " << seed << ", " << bytes << " bytes";
      proved += rounds.bound_in_any_rounds(bytes) > 0;
      ++budgets;
      by_rounds += best < rounds.best_whole(bytes);
    }
    for (const BudgetProblem& step : rounds.steps()) {
      for (const BudgetPoint& point : budget_curve(step)) {
        ASSERT_EQ(check_budget(step, point).reason, "") << "seed " << seed;
      }
    }
  }
  EXPECT_GT(by_rounds, budgets / 20);
  EXPECT_GT(proved, budgets / 50);
}

// One program has a column for each number of rounds, and knows nothing of steps in rounds.
TEST(OpRegions, LieBetweenTheirBoundAndAnIntegerProgram) {
  std::size_t budgets = 0, by_rounds = 0;
  for (const std::uint64_t seed : seeds(runs_all_cases() ? cases(20, 60) : 60)) {
    const RegionCase drawn = RegionCase::draw(seed, 4, true);
    AllRounds rounds(drawn);
    const std::set<std::uint64_t> peaks = rounds.peaks();
    for (const std::uint64_t bytes : {*peaks.begin(), (*peaks.begin() + *peaks.rbegin()) / 2}) {
      const CheckmateAnswer answer = checkmate_program(drawn.problem, bytes, drawn.regions);
      ASSERT_TRUE(answer.proved) << "seed " << seed;
      ASSERT_LE(rounds.bound_by_chains(bytes), answer.extra_seconds + kRegionRounding)
          << "seed " << seed << ", " << bytes;
      ASSERT_LE(answer.extra_seconds, rounds.best(bytes) + kRegionRounding)
          << "seed " << seed << ", " << bytes;
      ++budgets;
      by_rounds += answer.extra_seconds + kRegionRounding < rounds.best_whole(bytes);
    }
  }
  EXPECT_GT(by_rounds, budgets / 20);
}

// Ops of backward, which nothing else precedes, by what they read and write. Value 0 is forward's.
struct SmallStep {
  BudgetProblem problem;

  explicit SmallStep(const std::vector<std::uint64_t>& bytes) {
    for (const std::uint64_t of_value : bytes) {
      const auto id = static_cast<ValueId>(problem.graph.values.size());
      problem.graph.values.push_back({.bytes = of_value, .storage = id});
    }
    problem.backward = 1;
    add({}, {0});
  }
  OpId add(std::vector<ValueId> inputs, std::vector<ValueId> outputs, std::uint64_t workspace = 0) {
    problem.graph.ops.push_back({.name = "op",
                                 .inputs = std::move(inputs),
                                 .outputs = std::move(outputs),
                                 .workspace_bytes = workspace});
    problem.seconds.push_back(1);
    return static_cast<OpId>(problem.graph.ops.size() - 1);
  }
  std::uint64_t least_bytes(const std::vector<OpRegion>& regions, std::size_t rounds) const {
    const BudgetProblem step = in_rounds(problem, regions, {rounds}).problem;
    const std::uint64_t least = BudgetBound(step).least_bytes();
    EXPECT_EQ(least, ExhaustiveBudget(step).points().begin()->first);
    return least;
  }
};

// An op in rounds brings relations: value 4 is written before op 2 runs, although op 2 reads
// nothing of it. As a bound of the step whose ops run whole that proves too much, at an op outside.
TEST(OpRegions, RelationsOfAnOpInRoundsAreFalseForWholeOps) {
  SmallStep step({10, 10, 10, 10, 100, 10});
  const OpId first = step.add({0}, {1});
  const OpId outside = step.add({1}, {2}, 100);
  step.add({}, {3});
  const OpId last = step.add({3}, {4});
  step.add({2, 4}, {5});
  const std::vector<OpRegion> regions = {
      {.ops = {first, last}, .inputs = {0, 3}, .rounds = {{.workspace_bytes = 0, .seconds = 2}}}};
  EXPECT_EQ(step.least_bytes(regions, 0), 120u);
  EXPECT_EQ(step.least_bytes(regions, 1), 220u);
  const BudgetProblem rounds = in_rounds(step.problem, regions, {1}).problem;
  BudgetBound bound(rounds);
  EXPECT_EQ(rounds.graph.ops[bound.least().op].inputs, step.problem.graph.ops[outside].inputs);
}

// A bound at an op of the region is false for rounds: value 1 never exists. A bound at the op in
// rounds is false for whole ops, as all that goes in and out is there at once.
TEST(OpRegions, ExitsInsideARegionHoldForOneStepAlone) {
  const std::vector<OpRegion> regions = {
      {.ops = {1, 2}, .inputs = {0}, .rounds = {{.workspace_bytes = 10, .seconds = 2}}}};
  SmallStep large_inside({10, 500, 10});
  large_inside.add({0}, {1});
  large_inside.add({1}, {2});
  large_inside.add({2}, {});
  EXPECT_EQ(large_inside.least_bytes(regions, 0), 510u);
  EXPECT_EQ(large_inside.least_bytes(regions, 1), 30u);
  SmallStep large_outside({300, 10, 300});
  large_outside.add({0}, {1});
  large_outside.add({1}, {2});
  large_outside.add({2}, {});
  EXPECT_EQ(large_outside.least_bytes(regions, 0), 310u);
  EXPECT_EQ(large_outside.least_bytes(regions, 1), 610u);
}

TEST(OpRegions, ThatShareAnOpAreAlternatives) {
  const OpRegion::Rounds two{.workspace_bytes = 0, .seconds = 1};
  const std::vector<OpRegion> regions = {{.ops = {1, 2}, .rounds = {two, two}},
                                         {.ops = {2, 3}, .rounds = {two}},
                                         {.ops = {4}, .rounds = {two}}};
  EXPECT_THAT(rounds_choices(regions, 8),
              testing::UnorderedElementsAre(RoundsChoice{0, 0, 0}, RoundsChoice{1, 0, 0},
                                            RoundsChoice{2, 0, 0}, RoundsChoice{0, 1, 0},
                                            RoundsChoice{0, 0, 1}, RoundsChoice{1, 0, 1},
                                            RoundsChoice{2, 0, 1}, RoundsChoice{0, 1, 1}));
  EXPECT_THROW(rounds_choices(regions, 7), GraphError);
}

}  // namespace
}  // namespace skyline
