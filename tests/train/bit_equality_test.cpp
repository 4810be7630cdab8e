// Losses, parameters, running statistics and momentum after 22 steps are the same bit for bit under
// every allocator, with guard bytes and poison on and off.

#include <gtest/gtest.h>

#include "tests/memory/effort.h"
#include "tests/train/small_training.h"

namespace skyline {
namespace {

using namespace testing;

constexpr std::size_t kBatchSize = 4;
const std::size_t kSteps = effort(20) + 2;  // three under sanitizers

struct Outcome {
  std::vector<float> losses;
  std::string parameters, state;
  bool operator==(const Outcome&) const = default;
};

Outcome train(const std::string& model, const MemoryOptions& memory, bool in_place = true) {
  const ModelShape shape = small_shape(model);
  Experiment experiment(memory, seeded(Mode::kTraining, in_place), find_model(model), shape);
  Outcome outcome;
  for (const Batch& batch : small_batches(shape, kBatchSize, kSteps)) {
    outcome.losses.push_back(experiment.step(batch, small_params()));
  }
  outcome.parameters = parameters_sha256(experiment);
  outcome.state = state_sha256(experiment);
  return outcome;
}

class BitEqualityTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BitEqualityTest, UnderEveryAllocatorWithAndWithoutGuards) {
  const Outcome expected = train(GetParam(), {.allocator = "best-fit-pool"});
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  for (const std::string& allocator : allocator_names()) {
    for (const bool guard : {false, true}) {
      SCOPED_TRACE(allocator + (guard ? " with guards" : ""));
      EXPECT_EQ(train(GetParam(), {.allocator = allocator, .guard = guard, .check = true}),
                expected);
    }
  }
}

TEST_P(BitEqualityTest, WithAndWithoutWritingInPlace) {
  const MemoryOptions memory{.allocator = "planned", .guard = true, .check = true};
  EXPECT_EQ(train(GetParam(), memory, false), train(GetParam(), memory, true));
}

TEST_P(BitEqualityTest, AnotherSeedIsAnotherRun) {
  const ModelShape shape = small_shape(GetParam());
  const auto first_loss = [&](std::uint64_t seed) {
    Experiment experiment({}, {.seed = seed}, find_model(GetParam()), shape);
    return experiment.step(small_batches(shape, kBatchSize, 1).front(), small_params());
  };
  EXPECT_NE(first_loss(1), first_loss(2));
}

INSTANTIATE_TEST_SUITE_P(Networks, BitEqualityTest, ::testing::ValuesIn(model_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace skyline
