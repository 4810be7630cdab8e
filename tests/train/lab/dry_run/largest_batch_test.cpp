#include "train/lab/dry_run/largest_batch.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/train/images/small_training.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

DryRunOptions lenet_options(Mode mode = Mode::kTraining) {
  return {.model = "lenet", .shape = tests::small_shape("lenet"), .mode = mode};
}

std::vector<ReplayChoice> every_allocator() {
  std::vector<ReplayChoice> choices;
  for (const std::string& name : allocator_names()) choices.push_back({.allocator = name});
  return choices;
}

// Tries every size, one after another.
std::map<std::string, std::int64_t> brute_force(const DryRunOptions& options,
                                                std::uint64_t capacity, std::int64_t most) {
  DryRun program = make_dry_run(options);
  std::map<std::string, std::int64_t> largest;
  for (std::int64_t size = 1; size <= most; ++size) {
    program.forget_orders();
    const DryRunFacts facts = program.foresee(size, options.mode);
    for (ReplayChoice choice : every_allocator()) {
      choice.capacity_bytes = capacity;
      if (replay_run(facts.run, facts.trace, choice).fits) largest[choice.allocator] = size;
    }
  }
  return largest;
}

class LargestBatchTest : public ::testing::TestWithParam<std::tuple<std::uint64_t, Mode>> {};

TEST_P(LargestBatchTest, IsWhatAskingEverySizeFinds) {
  const auto& [capacity, mode] = GetParam();
  const LargestBatches found = largest_batches(lenet_options(mode), capacity, every_allocator());
  ASSERT_GT(found.ceiling, 0);
  ASSERT_LE(found.ceiling, kFewSizes);
  const auto truth = brute_force(lenet_options(mode), capacity, found.ceiling + 4);
  for (const LargestBatch& row : found.allocators) {
    const auto known = truth.find(row.allocator);
    EXPECT_EQ(row.batch_size, known == truth.end() ? 0 : known->second) << row.allocator;
    EXPECT_TRUE(row.proved) << row.allocator;
  }
}

INSTANTIATE_TEST_SUITE_P(Capacities, LargestBatchTest,
                         ::testing::Combine(::testing::Values(900'000, 1'500'000),
                                            ::testing::Values(Mode::kTraining, Mode::kInference)),
                         [](const auto& tested) {
                           return std::to_string(std::get<0>(tested.param)) +
                                  (std::get<1>(tested.param) == Mode::kTraining ? "_training"
                                                                                : "_inference");
                         });

// The limit is exact to the byte, because each size around the answer has a different number of
// bytes.
TEST(LargestBatchTest, AByteLessIsAnImageLess) {
  DryRun program = make_dry_run(lenet_options());
  const std::uint64_t bytes = program.foresee(20, Mode::kTraining).run.most_bytes(1);
  EXPECT_EQ(largest_batches(lenet_options(), bytes, {}).ceiling, 20);
  EXPECT_EQ(largest_batches(lenet_options(), bytes - 1, {}).ceiling, 19);
}

TEST(LargestBatchTest, TooLittleForOneImageIsNone) {
  const LargestBatches found = largest_batches(lenet_options(), 100'000, every_allocator());
  EXPECT_EQ(found.ceiling, 0);
  for (const LargestBatch& row : found.allocators) EXPECT_EQ(row.batch_size, 0) << row.allocator;
}

TEST(LargestBatchTest, ADeviceWithoutEndIsNotSearched) {
  const LargestBatches found =
      largest_batches(lenet_options(), std::uint64_t{1} << 60, {{.allocator = "best-fit-pool"}});
  EXPECT_TRUE(found.at_limit);
  EXPECT_EQ(found.allocators[0].batch_size, kMostImages);
  EXPECT_FALSE(found.allocators[0].proved);
}

// Linear guesses find a large answer in few runs.
TEST(LargestBatchTest, FewSizesAreRun) {
  const LargestBatches found =
      largest_batches(lenet_options(), std::uint64_t{1} << 30,
                      {{.allocator = "network-wise"}, {.allocator = "planned"}});
  EXPECT_GT(found.ceiling, 1000);
  EXPECT_LT(found.sizes_run, 60);
  EXPECT_EQ(found.allocators[1].batch_size, found.ceiling);
}

TEST(LargestBatchTest, OptionsOfAllocatorsCount) {
  ReplayChoice small{.allocator = "bfc"};
  small.allocator_options.bfc.limit_bytes = 1 << 20;
  const LargestBatches found =
      largest_batches(lenet_options(), 2 << 20, {{.allocator = "bfc"}, small});
  EXPECT_LT(found.allocators[1].batch_size, found.allocators[0].batch_size);
}

}  // namespace
}  // namespace skyline
