// Text within a budget: batches of other lengths are other steps, and each must fit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "memory/alignment.h"
#include "tests/train/translation/budgeted_text.h"
#include "tests/train/translation/small_translation.h"
#include "train/cli/usage_error.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using namespace tests;

constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kTextSteps = 24;  // two epochs, each shuffled anew

TrainOptions text_options(bool unroll) {
  TrainOptions options;
  options.model = "seq2seq";
  options.batch_size = 8;
  options.threads = 1;
  options.steps = kTextSteps;
  options.text.pairs = 96;
  options.text.units = 16;
  options.text.embedding = 48;
  options.text.dropout = 0.2;
  options.text.unroll = unroll;
  options.memory.check = true;
  return options;
}

// A run that keeps its batches searches for no smaller ones when it is refused.
bool suffices(const TrainOptions& options, std::uint64_t bytes) {
  try {
    BudgetedText run(within(options, bytes), {.keeps_batches = true});
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// Returns the answer for the longest step, which keeps all.
BudgetAnswer all_kept(const TrainOptions& options) {
  return *BudgetedText(within(options, std::uint64_t{1} << 40)).decided.decisions.budget;
}

// Half way from its bytes to the fewest in the program's sequence.
std::uint64_t half_way(const TrainOptions& options) {
  const BudgetAnswer answer = all_kept(options);
  return (answer.unlimited_bytes + answer.least_bytes) / 2;
}

// The least budget that is not refused, in pages. Each question is a search, so those near the
// longest step's fewest bytes come first.
std::uint64_t least_budget(const TrainOptions& options, const BudgetAnswer& longest) {
  std::uint64_t refused = 0, least = longest.unlimited_bytes / kPage + 1;
  const auto ask = [&](std::uint64_t pages) {
    if (pages <= refused || pages >= least) return;
    (suffices(options, pages * kPage) ? least : refused) = pages;
  };
  for (const std::uint64_t near : {0, 2, 4}) ask(longest.least_bytes / kPage - 1 + near);
  while (least - refused > 1) ask((refused + least) / 2);
  return least * kPage;
}

class TextBudget : public ::testing::TestWithParam<bool> {
 protected:
  TrainOptions options() const { return text_options(GetParam()); }
  TextBits unlimited() const {
    TrainOptions free = options();
    free.memory.allocator = "best-fit-pool";
    return BudgetedText(free).train(kTextSteps);
  }
};

TEST_P(TextBudget, IsKeptByEveryStepAndChangesNoBit) {
  const TextBits expected = unlimited();
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  const BudgetAnswer longest = all_kept(options());
  const std::uint64_t most = longest.unlimited_bytes, least = least_budget(options(), longest);
  ASSERT_LT(least, most);
  for (const auto& [quarters, lanes] : {std::pair{0, 1}, {1, 1}, {2, 1}, {2, 2}, {3, 2}}) {
    TrainOptions options = this->options();
    options.device.lanes = lanes;
    const std::uint64_t bytes = least + (most - least) * static_cast<unsigned>(quarters) / 4;
    BudgetedText run(within(options, bytes));
    EXPECT_EQ(run.train(kTextSteps), expected) << bytes;
    EXPECT_LE(run.peak_reserved(), bytes);
    EXPECT_GT(run.steps_that_make_again, 0);
    EXPECT_EQ(run.run->memory.session()->session_statistics().deviations, 0u);
  }
  EXPECT_THAT([&] { BudgetedText(within(options(), least - kPage)); },
              testing::ThrowsMessage<UsageError>(testing::AllOf(
                  testing::HasSubstr("--memory: "), testing::HasSubstr(" are missing"))));
}

TEST_P(TextBudget, IsKeptInEveryOrderAndWithFusedUpdates) {
  for (const char* order : {"program", "optimal"}) {
    for (const bool fused : {false, true}) {
      TrainOptions options = this->options();
      options.step.order = order;
      options.step.fused_update = fused;
      options.text.clip = 0;
      TrainOptions free = options;
      free.memory.allocator = "best-fit-pool";
      const std::uint64_t bytes = half_way(options);
      BudgetedText run(within(options, bytes));
      EXPECT_EQ(run.train(kTextSteps), BudgetedText(free).train(kTextSteps)) << order << fused;
      EXPECT_LE(run.peak_reserved(), bytes) << order << fused;
    }
  }
}

// Runs that do not plan make again in each batch what the budget chose for the longest. No batch
// has more bytes alive then.
TEST_P(TextBudget, ChoosesForTheLongestBatchWhatServesAll) {
  const TextBits expected = unlimited();
  const std::uint64_t bytes = half_way(options());
  BudgetedText run(within(options(), bytes));
  run.run = tests::run_on(run.decided, {.allocator = "best-fit-pool"}, {.record = true});
  run.run->seek({}, run.options.data.seed);
  std::uint64_t most_alive = 0;
  EXPECT_EQ(run.train(kTextSteps,
                      [&] {
                        const std::uint64_t alive = lower_bound_bytes(
                            run.run->memory.recording()->last_step(), kAlignmentBytes);
                        most_alive = std::max(most_alive, run.run->resident_bytes() + alive);
                      }),
            expected);
  EXPECT_LE(most_alive, bytes);
  EXPECT_EQ(run.steps_that_make_again, kTextSteps);
}

// Batches that fit as they are make nothing again.
TEST(UnrolledTextBudget, MakesOnlyLongBatchesAgain) {
  const TrainOptions options = text_options(true);
  const std::uint64_t most = all_kept(options).unlimited_bytes;
  BudgetedText run(within(options, most - most / 20));
  run.train(kTextSteps);
  EXPECT_GT(run.steps_that_make_again, 0);
  EXPECT_LT(run.steps_that_make_again, kTextSteps);
}

// So that a choice for one batch means the same values in another.
TEST(UnrolledTextBudget, NamesCellsByLayerAndWord) {
  const TranslationData data = tests::small_text();
  TranslationDryRun dry({}, tests::small_run(tests::small_seq2seq(data, true)));
  const std::vector<std::int32_t> lengths = {3, 2};
  const DryRunFacts facts = dry.foresee({batch_of_lengths(lengths, lengths)}, DryRun::Graph::kOn);
  std::set<std::pair<std::size_t, std::size_t>> cells;
  for (const RecordedRecomputation& recompute : facts.step.recomputations) {
    if (recompute.name.op != "lstm_cell" || recompute.name.layer != "encoder") continue;
    cells.emplace(recompute.name.loop, recompute.name.turn);
    EXPECT_EQ(recompute.name.number, 0u);
  }
  EXPECT_THAT(cells, testing::ElementsAre(std::pair(1, 0), std::pair(1, 1), std::pair(1, 2),
                                          std::pair(2, 0), std::pair(2, 1), std::pair(2, 2)));
}

INSTANTIATE_TEST_SUITE_P(Lstm, TextBudget, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "unrolled" : "packed"; });

}  // namespace
}  // namespace skyline
