// Steps of which a chain of ops may run in rounds: one step graph in rounds, and one not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_checker.h"
#include "memory/budget/budget_curve.h"
#include "memory/budget/op_region.h"
#include "memory/solvers/chain_bound.h"
#include "tests/memory/budget/exhaustive_budget.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr std::uint64_t kRounds = 4;

// A network without branches; values are multiples of kRounds.
class RandomChain {
 public:
  explicit RandomChain(std::uint64_t seed) : random_(seed) {
    layers_.resize(between(3, 6));
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      Layer& layer = layers_[k];
      layer.is_activation = k > 0 && between(0, 2) == 0;
      layer.bytes = layer.is_activation ? layers_[k - 1].bytes : 1000 * between(1, 9);
      layer.workspace_bytes = layer.is_activation ? 0 : 500 * between(0, 3);
      layer.seconds = static_cast<double>(layer.is_activation ? between(1, 3) : between(5, 30));
    }
    first_ = between(0, layers_.size() - 2);
    last_ = between(first_ + 1, layers_.size() - 1);
  }

  BudgetProblem whole() { return problem(false); }
  // Layers first_ to last_ in rounds.
  BudgetProblem in_rounds() { return problem(true); }
  // The ops of these layers in a whole step.
  std::vector<std::uint32_t> groups(const StepGraph& whole) const {
    std::vector<std::uint32_t> groups;
    for (const StepOp& op : whole.ops) groups.push_back(op.layer == "chain" ? 0 : kNoGroup);
    return groups;
  }

 private:
  struct Layer {
    bool is_activation = false;
    std::uint64_t bytes = 0, workspace_bytes = 0;
    double seconds = 0;
  };

  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(random_()) % (high - low + 1);
  }

  const char* chain_at(std::size_t k) const { return k < first_ || k > last_ ? "" : "chain"; }

  // The slices of a chain's inner values, one above the other; `gradients`: of their gradients,
  // too.
  OpRounds rounds(bool gradients) const {
    OpRounds rounds;
    OpRounds::Call call{.name = "layer", .layer = {}, .slices = {}};
    std::uint64_t end = 0;
    const auto add = [&](std::uint64_t bytes) {
      call.slices.push_back(rounds.slices.size());
      rounds.slices.push_back({end, bytes});
      end += bytes;
    };
    for (std::size_t k = first_; k < last_; ++k) {
      for (int copy = 0; copy < (gradients ? 2 : 1); ++copy) add(layers_[k].bytes / kRounds);
    }
    std::uint64_t most = 0;
    for (std::size_t k = first_; k <= last_; ++k) {
      most = std::max(most, layers_[k].workspace_bytes);
    }
    add(most);
    rounds.calls = {call};
    return rounds;
  }

  BudgetProblem problem(bool chained) const {
    BudgetProblem made{.recomputes_each = true};
    const auto value = [&](std::uint64_t bytes) {
      const auto id = static_cast<ValueId>(made.graph.values.size());
      made.graph.values.push_back({.bytes = bytes, .storage = id});
      return id;
    };
    const auto add_op = [&](StepOp op, double seconds) {
      made.graph.ops.push_back(std::move(op));
      made.seconds.push_back(seconds);
    };
    const auto add_rounds = [&](bool gradients) {
      const OpRounds of_op = rounds(gradients);
      StepOp& op = made.graph.ops.back();
      op.workspace_bytes = of_op.slices.back().offset + of_op.slices.back().bytes;
      op.rounds = std::make_shared<const OpRounds>(of_op);
    };
    std::vector<ValueId> y = {value(3000)};
    add_op({.name = "input", .outputs = {y[0]}}, 0);
    double inside = 0, of_chain = 0;
    for (std::size_t k = first_; k <= last_; ++k) of_chain += layers_[k].seconds;
    inside = of_chain - layers_[last_].seconds;
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      const Layer& layer = layers_[k];
      if (chained && k >= first_ && k < last_) {
        y.push_back(y.back());
        continue;
      }
      const bool is_chain = chained && k == last_;
      const ValueId x = is_chain ? y[first_] : y.back();
      const double seconds = is_chain ? of_chain : layer.seconds;
      StepOp op{.name = "layer",
                .layer = chain_at(k),
                .inputs = {x},
                .workspace_bytes = layer.workspace_bytes};
      if (layer.is_activation && !is_chain) op.in_place = {{0, 0}};
      y.push_back(value(layer.bytes));
      op.outputs = {y.back()};
      add_op(op, seconds);
      if (is_chain) add_rounds(false);
      made.recomputes.push_back({.value = y.back(),
                                 .inputs = op.inputs,
                                 .workspace_bytes = made.graph.ops.back().workspace_bytes,
                                 .in_place = op.in_place,
                                 .seconds = seconds});
    }
    made.backward = static_cast<OpId>(made.graph.ops.size());
    ValueId gradient = value(layers_.back().bytes);
    add_op({.name = "seed", .inputs = {y.back()}, .outputs = {gradient}}, 1);
    for (std::size_t k = layers_.size(); k-- > 0;) {
      const Layer& layer = layers_[k];
      if (chained && k == last_) {
        StepOp op{.name = "chain_grad", .inputs = {y[first_], gradient}};
        if (layer.is_activation) op.inputs.push_back(y[k + 1]);
        if (first_ > 0) op.outputs = {gradient = value(layers_[first_ - 1].bytes)};
        add_op(std::move(op), 3 * static_cast<double>(last_ - first_ + 1) + inside);
        add_rounds(true);
        k = first_;
        continue;
      }
      if (!layer.is_activation) {
        add_op({.name = "update", .layer = chain_at(k), .inputs = {y[k], gradient}}, 2);
      }
      if (k == 0) continue;
      StepOp op{.name = "gradient", .layer = chain_at(k), .inputs = {gradient}};
      if (layer.is_activation) op.inputs.push_back(y[k + 1]);
      op.outputs = {gradient = value(layers_[k - 1].bytes)};
      add_op(std::move(op), 1);
    }
    return made;
  }

  std::mt19937_64 random_;
  std::vector<Layer> layers_;
  std::size_t first_ = 0, last_ = 0;
};

double total(const BudgetProblem& problem) {
  double seconds = 0;
  for (const double of_op : problem.seconds) seconds += of_op;
  return seconds;
}

TEST(Rounds, NeverBeatTheLeastBoundOfTheirSteps) {
  std::size_t budgets = 0, by_rounds = 0, proved = 0;
  for (const std::uint64_t seed : seeds(2000)) {
    RandomChain chain(seed);
    const BudgetProblem whole = chain.whole(), rounds = chain.in_rounds();
    const double slower = total(rounds) - total(whole);
    const ExhaustiveBudget best(whole), best_rounds(rounds);
    BudgetBound bound(whole), bound_rounds(rounds);
    ChainBound by_chains(whole, bound), rounds_by_chains(rounds, bound_rounds);
    const BudgetProblem either = in_any_rounds(whole, chain.groups(whole.graph));
    BudgetBound bound_either(either);
    ChainBound either_by_chains(either, bound_either);
    std::set<std::uint64_t> peaks;
    for (const auto& [bytes, seconds] : best.points()) peaks.insert(bytes);
    for (const auto& [bytes, seconds] : best_rounds.points()) peaks.insert(bytes);
    ASSERT_LE(std::min(bound.least_bytes(), bound_rounds.least_bytes()), *peaks.begin());
    for (const std::uint64_t bytes : peaks) {
      const double least =
          std::min(best.extra_seconds(bytes), slower + best_rounds.extra_seconds(bytes));
      ASSERT_LE(std::min(bound.extra_seconds(bytes), slower + bound_rounds.extra_seconds(bytes)),
                least + 1e-6)
          << "seed " << seed << ", " << bytes << " bytes";
      ASSERT_LE(
          std::min(by_chains.extra_seconds(bytes), slower + rounds_by_chains.extra_seconds(bytes)),
          least + 1e-6)
          << "seed " << seed << ", " << bytes << " bytes";
      ASSERT_LE(either_by_chains.extra_seconds(bytes), least + 1e-6)
          << "seed " << seed << ", " << bytes << " bytes";
      proved += either_by_chains.extra_seconds(bytes) > 0;
      ++budgets;
      by_rounds += best.extra_seconds(bytes) > slower + best_rounds.extra_seconds(bytes);
    }
    for (const BudgetPoint& point : budget_curve(rounds)) {
      ASSERT_EQ(check_budget(rounds, point).reason, "") << "seed " << seed;
    }
  }
  EXPECT_GT(by_rounds, budgets / 20);
  EXPECT_GT(proved, budgets / 20);
}

TEST(Rounds, AreCheckedByTheirSlices) {
  const auto reason = [](const std::function<void(OpRounds&, StepOp&)>& tamper) {
    BudgetProblem problem = RandomChain(5).in_rounds();
    const BudgetPoint point = budget_curve(problem).back();
    StepOp& op = *std::ranges::find(problem.graph.ops, "chain_grad", &StepOp::name);
    OpRounds rounds = *op.rounds;
    tamper(rounds, op);
    op.rounds = std::make_shared<const OpRounds>(rounds);
    return check_budget(problem, point).reason;
  };
  using testing::HasSubstr;
  EXPECT_EQ(reason([](OpRounds&, StepOp&) {}), "");
  EXPECT_THAT(reason([](OpRounds&, StepOp& op) { --op.workspace_bytes; }),
              HasSubstr("chain_grad claims a workspace of"));
  EXPECT_THAT(reason([](OpRounds& rounds, StepOp&) { rounds.slices[1].offset = 0; }),
              HasSubstr("slices 0 and 1 of chain_grad meet"));
  EXPECT_THAT(reason([](OpRounds& rounds, StepOp&) { rounds.calls[0].slices.push_back(99); }),
              HasSubstr("chain_grad has no slice 99"));
  // Apart in time, they may.
  EXPECT_EQ(reason([](OpRounds& rounds, StepOp& op) {
              const OpRounds::Slice all{0, op.workspace_bytes};
              rounds.slices = {all, all};
              rounds.calls = {{.name = "a", .layer = {}, .slices = {0}},
                              {.name = "b", .layer = {}, .slices = {1}}};
            }),
            "");
}

}  // namespace
}  // namespace skyline
