#include "train/decide/step_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "memory/alignment.h"
#include "models/models.h"
#include "tests/train/decide/budget_programs.h"
#include "train/cli/usage_error.h"
#include "train/decide/step_seconds.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using namespace tests;

class EveryModelsBudget : public ::testing::TestWithParam<std::string> {
 protected:
  static DryRunOptions program() { return budget_program(GetParam()); }
};

// A chain in rounds takes as long as the ops of `whole`, the step that saves nothing, that it does.
double modelled_seconds(const DryRunFacts& step, const DryRunFacts& whole) {
  std::vector<double> seconds = foreseen_seconds(step.step, assumed_speed("cpu"));
  const std::vector<double> of_whole = foreseen_seconds(whole.step, assumed_speed("cpu"));
  for (std::size_t op = 0; op < seconds.size(); ++op) {
    const std::shared_ptr<const OpRounds>& rounds = step.step.graph.ops[op].rounds;
    if (!rounds) continue;
    seconds[op] = 0;
    for (const OpRounds::Call& call : rounds->calls) {
      const auto found = std::ranges::find_if(whole.step.graph.ops, [&](const StepOp& of) {
        return of.name == call.name && of.layer == call.layer;
      });
      seconds[op] += of_whole.at(static_cast<std::size_t>(found - whole.step.graph.ops.begin()));
    }
  }
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

double modelled_seconds(const DryRunFacts& step) { return modelled_seconds(step, step); }

// The search counts what the step does in the program's sequence.
void expect_foreseen(const std::vector<BudgetStep>& curve, DryRunOptions options) {
  options.step.order = std::string(kProgramOrder);
  const DryRunFacts whole = dry_run(options);
  const double all_kept = modelled_seconds(whole, whole);
  for (const BudgetStep& point : curve) {
    options.savings = point.savings;
    const DryRunFacts step = dry_run(options);
    EXPECT_EQ(step.resident_bytes + lower_bound_bytes(step.trace, kAlignmentBytes), point.bytes);
    EXPECT_NEAR(modelled_seconds(step, whole) / all_kept - 1, point.overhead,
                0.01 * point.overhead + 1e-9);
  }
}

// One test, because the search takes most of its time.
TEST_P(EveryModelsBudget, IsKeptWithinItsBoundForeseenCostsNoMoreForMoreBytesAndRepeats) {
  SmallBudget small(program());
  expect_keeps_twenty(small);
  SmallBudget again(program());
  const std::uint64_t bytes = small.bytes_at(0.4);
  const BudgetAnswer one = small.budget.within(bytes), other = again.budget.within(bytes);
  ASSERT_EQ(one.savings == nullptr, other.savings == nullptr);
  if (one.savings) {
    EXPECT_EQ(*one.savings, *other.savings);
  }
  EXPECT_EQ(one.reserved_bytes, other.reserved_bytes);
  expect_foreseen(small.budget.curve(12), program());
}

// Their gradients are the same products, wherever they are written.
TEST_P(EveryModelsBudget, CountsTheProductsOfFusedUpdatesAndMicroBatches) {
  DryRunOptions options = program();
  options.optimizer.clip = 0;  // needs all gradients at once
  const double plain = modelled_seconds(dry_run(options));
  options.step.fused_update = true;
  EXPECT_NEAR(modelled_seconds(dry_run(options)), plain, 1e-6 * plain);
  options.step.fused_update = false;
  options.batch_size /= 2;
  options.step.micro_batches = 2;
  EXPECT_GT(modelled_seconds(dry_run(options)), 0.999 * plain);
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryModelsBudget, ::testing::ValuesIn(budget_programs()),
                         [](const auto& tested) { return budget_program_name(tested.param); });

// Asks steps that no budget takes, too: any of the chains, with late sums and with early ones.
class ChainsBudget : public ::testing::TestWithParam<std::string> {};

TEST_P(ChainsBudget, BoundsHoldWhicheverChainsRunInRounds) {
  SmallBudget small(budget_program(GetParam()));
  const std::vector<BudgetStep> curve = small.budget.curve(6);
  DryRunOptions options = budget_program(GetParam());
  options.step.order = std::string(kProgramOrder);
  const DryRunFacts whole = dry_run(options);
  const std::vector<double> seconds = foreseen_seconds(whole.step, assumed_speed("cpu"));
  const double all_kept = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const std::vector<std::string>& chains = whole.step.chains;
  for (unsigned set = 0; set < 2u << chains.size(); ++set) {
    ByteSavings savings{.early_sums = set % 2 == 1};
    for (std::size_t k = 0; k < chains.size(); ++k) {
      if (set >> (k + 1) & 1) savings.rounds.insert(chains[k]);
    }
    options.savings = std::make_shared<const ByteSavings>(savings);
    const DryRunFacts facts = dry_run(options);
    BudgetedStep step(facts, savings, saving_seconds(facts.step, whole.step, seconds), {});
    step.search();
    for (const BudgetPoint& point : step.curve()) {
      const double longer = (step.seconds() + point.extra_seconds) / all_kept - 1;
      for (const BudgetStep& bound : curve) {
        if (step.resident_bytes() + point.peak > bound.bytes) continue;
        EXPECT_LE(bound.bound, longer + 1e-9) << set << ": " << bound.bytes;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ChainsBudget,
                         ::testing::Values(kChains[0], kChains[1], kChains[2]),
                         [](const auto& tested) { return budget_program_name(tested.param); });

DryRunOptions lenet() {
  return {.model = "lenet", .shape = find_model("lenet").shape, .batch_size = 32};
}

TEST(StepBudget, SaysWhatIsMissing) {
  SmallBudget small(lenet());
  EXPECT_THAT([&] { small.budget.within(100'000); },
              testing::ThrowsMessage<UsageError>(testing::AllOf(
                  testing::HasSubstr("--memory: 97.66 KiB do not suffice for the step"),
                  testing::HasSubstr("1.86 MiB are missing, whatever is recomputed"),
                  testing::HasSubstr("relu_grad of conv1"),
                  testing::HasSubstr("activation of conv1 (588 KiB)"))));
}

TEST(StepBudget, OfAStepThatFitsMakesNothingAgain) {
  SmallBudget small(lenet());
  const BudgetAnswer answer = small.budget.within(small.budget.unlimited_bytes());
  EXPECT_EQ(answer.recomputed, 0u);
  EXPECT_EQ(answer.overhead(), 0);
  EXPECT_EQ(answer.reserved_bytes, answer.unlimited_bytes);
}

TEST(StepBudget, FindsTheLeastBytesForATime) {
  SmallBudget small({.model = "resnet20", .shape = find_model("resnet20").shape, .batch_size = 16});
  const BudgetAnswer none = small.budget.at_most_longer(0);
  const BudgetAnswer some = small.budget.at_most_longer(0.05);
  EXPECT_EQ(none.recomputed, 0u);
  EXPECT_LE(some.overhead(), 0.05);
  EXPECT_LT(some.reserved_bytes, none.reserved_bytes);
  EXPECT_LE(some.bound(), some.overhead());
}

// Four branches of a block give its input gradients.
TEST(StepBudget, SumsGradientsEarlyWhereBytesAreFew) {
  SmallBudget small(
      {.model = "googlenet", .shape = find_model("googlenet").shape, .batch_size = 8});
  const BudgetAnswer all = small.budget.within(small.bytes_at(1));
  EXPECT_EQ(all.savings, nullptr);
  const BudgetAnswer least = small.budget.within(small.bytes_at(0));
  ASSERT_TRUE(least.savings);
  EXPECT_TRUE(least.savings->early_sums);
  EXPECT_NE(least.text().find("gradients are summed early"), std::string::npos);
  EXPECT_EQ(to_json(least)["early_sums"], true);
}

// Budgets of lenet as on a processor whose first convolution has a fast engine with 8 MiB of
// workspace.
StepBudget with_large_workspace(bool fits_engines) {
  constexpr std::uint64_t kWorkspace = 8 << 20;
  const auto trial = [](const Savings& savings, const EngineNames& engines) {
    DryRunOptions program = lenet();
    program.savings = savings;
    StepTrial result{dry_run(program)};
    RecordedStep& step = result.facts.step;
    const auto conv1 = std::ranges::find(step.graph.ops, "conv1", &StepOp::layer);
    const std::uint64_t direct = conv1->workspace_bytes;
    if (!engines.contains("conv1")) {
      conv1->workspace_bytes = kWorkspace;
      step.engines[static_cast<OpId>(conv1 - step.graph.ops.begin())] = {"conv1", "fast", "direct",
                                                                         direct};
    }
    result.reserved_bytes =
        result.facts.resident_bytes + lower_bound_bytes(simulate(step.graph), kAlignmentBytes);
    return result;
  };
  return StepBudget({.trial = trial,
                     .seconds = tests::steady_seconds(),
                     .freedom = {.fits_engines = fits_engines}});
}

TEST(StepBudget, TakesASmallerEngineWhereAWorkspaceDoesNotFit) {
  StepBudget budget = with_large_workspace(true);
  EXPECT_THAT(budget.within(budget.unlimited_bytes()).engines, testing::IsEmpty());
  const BudgetAnswer answer = budget.within(4 << 20);
  EXPECT_EQ(answer.engines, (EngineNames{{"conv1", "direct"}}));
  EXPECT_EQ(answer.recomputed, 0u);
  EXPECT_GT(answer.extra_seconds, 0);
  EXPECT_LE(answer.reserved_bytes, 4u << 20);
}

TEST(StepBudget, NamesTheOptionThatTakesSmallerEngines) {
  StepBudget budget = with_large_workspace(false);
  EXPECT_THAT([&] { budget.within(4 << 20); },
              testing::ThrowsMessage<UsageError>(
                  testing::HasSubstr("--engines fitting takes smaller workspaces")));
}

DryRunOptions alexnet(std::int64_t batch_size) {
  return {.model = "alexnet", .shape = find_model("alexnet").shape, .batch_size = batch_size};
}

std::string refusal(StepBudget& budget, std::uint64_t bytes) {
  try {
    budget.within(bytes);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

// fc6's gradient of 144 MiB is whole before it is added, however small the batches are.
TEST(SmallerBatches, AreNamedWhereNoStepFits) {
  constexpr std::uint64_t kMib = 1 << 20;
  SmallBudget small(alexnet(64));
  const std::string fits = refusal(small.budget, 860 * kMib);
  EXPECT_THAT(fits, testing::HasSubstr("are missing, whatever is recomputed"));
  EXPECT_THAT(fits, testing::HasSubstr("--batch-size 32 --micro-batches 2 fits in 859."));
  EXPECT_THAT(refusal(small.budget, 750 * kMib), testing::HasSubstr(". No smaller batches fit"));
}

// A step that is told to fit does: the same program with these options.
TEST(SmallerBatches, FitWithOrWithoutRecomputing) {
  SmallBudget small({.model = "vgg16", .shape = find_model("vgg16").shape, .batch_size = 48});
  const std::uint64_t bytes = small.budget.least_bytes() - (100 << 20);
  const std::string text = refusal(small.budget, bytes);
  EXPECT_THAT(text, testing::HasSubstr("--batch-size 24 --micro-batches 2 fits in"));
  DryRunOptions divided = small.question.program;
  divided.batch_size = 24;
  divided.step.micro_batches = 2;
  SmallBudget other(divided);
  EXPECT_LE(other.budget.within(bytes).reserved_bytes, bytes);
}

TEST(SmallerBatches, TakeFewerBytesAndMoreSeconds) {
  SmallBudget small(lenet());
  const std::vector<DividedStep> steps = small.budget.divided();
  ASSERT_EQ(steps.size(), 5u);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    EXPECT_EQ(steps[k].batch_size, 16 >> k);
    EXPECT_EQ(steps[k].micro_batches, 2 << k);
    DryRunOptions program = lenet();
    program.batch_size = steps[k].batch_size;
    program.step.micro_batches = steps[k].micro_batches;
    EXPECT_NEAR(modelled_seconds(dry_run(program)), steps[k].seconds, 1e-9);
    if (k > 0) {
      EXPECT_LT(steps[k].reserved_bytes, steps[k - 1].reserved_bytes);
      EXPECT_GT(steps[k].overhead, steps[k - 1].overhead);
    }
  }
}

TEST(SmallerBatches, OfAPrimeNumberAreSingleImages) {
  DryRunOptions program = lenet();
  program.batch_size = 7;
  SmallBudget small(program);
  const std::vector<DividedStep> steps = small.budget.divided();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].batch_size, 1);
  EXPECT_EQ(steps[0].micro_batches, 7);
}

TEST(SmallerBatches, HaveOtherStatistics) {
  SmallBudget small({.model = "resnet20", .shape = find_model("resnet20").shape, .batch_size = 32});
  EXPECT_THAT(refusal(small.budget, small.budget.least_bytes() - (1 << 20)),
              testing::EndsWith("but batch normalization then takes its statistics from fewer "
                                "images, which trains another network"));
  EXPECT_THAT(small.budget.divided(), testing::IsEmpty());
}

TEST(SmallerBatches, ExcludeFusedUpdates) {
  DryRunOptions program = lenet();
  program.step.fused_update = true;
  SmallBudget small(program);
  EXPECT_THAT(refusal(small.budget, 100'000),
              testing::EndsWith("without --fused-update, which excludes --micro-batches"));
  EXPECT_THAT(small.budget.divided(), testing::IsEmpty());
}

TEST(LargestSlowerBatch, IsLargerThanWithoutMakingValuesAgain) {
  DryRunRequest question{.program = lenet(),
                         .allocators = {},
                         .device_memory_bytes = 8 << 20,
                         .seconds = tests::steady_seconds(),
                         .slowdown = 0};
  const SlowerBatch same = largest_slower_batch(question);
  question.slowdown = 0.2;
  const SlowerBatch slower = largest_slower_batch(question);
  EXPECT_GT(slower.batch_size, same.batch_size);
  EXPECT_LE(slower.step.reserved_bytes, *question.device_memory_bytes);
  EXPECT_LE(slower.step.overhead(), 0.2);
}

}  // namespace
}  // namespace skyline
