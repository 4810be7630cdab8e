// Losses, parameters, running statistics and momentum after 22 steps are bit-equal under every
// allocator, with and without guard bytes and poison.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <set>

#include "memory/order/order.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/decide/small_budget.h"
#include "tests/train/images/paper_training.h"
#include "train/options/memory_options.h"
#include "train/options/step_options.h"

namespace skyline {
namespace {

using namespace tests;

constexpr std::size_t kBatchSize = 4;
const std::size_t kSteps = effort(20) + 2;  // fewer under sanitizers: three
// Warm-up, the switch to the plan, and three steps from it, for orders, of which there are many.
const std::size_t kStepsInOrder = effort(2) + 3;

struct TrainedBits {
  std::vector<float> losses;
  std::string parameters, state;
  bool operator==(const TrainedBits&) const = default;
};

Context::Options frugal(int recompute, bool fused_update, const std::string& order = "program") {
  Context::Options options = context_options(StepOptions{.order = order});
  options.seed = seeded().seed;
  options.recompute = recompute;
  options.fused_update = fused_update;
  return options;
}

TrainedBits train(const std::string& model, const MemoryOptions& memory,
                  const Context::Options& options = seeded(), std::size_t steps = kSteps) {
  const ModelShape shape = small_shape(model);
  ImageRun experiment(memory, options, {.model = model, .shape = shape});
  TrainedBits outcome;
  for (const Batch& batch : small_batches(shape, kBatchSize, steps)) {
    outcome.losses.push_back(experiment.train_step(batch, small_params()));
  }
  outcome.parameters = parameters_sha256(experiment);
  outcome.state = state_sha256(experiment);
  return outcome;
}

class BitEqualityTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BitEqualityTest, UnderEveryAllocatorWithAndWithoutGuards) {
  const TrainedBits expected = train(GetParam(), {.allocator = "best-fit-pool"});
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
  EXPECT_EQ(train(GetParam(), memory, seeded(Mode::kTraining, false)), train(GetParam(), memory));
}

TEST_P(BitEqualityTest, WithAndWithoutRecomputeAndFusedUpdates) {
  const MemoryOptions memory{.allocator = "planned", .guard = true, .check = true};
  const TrainedBits expected = train(GetParam(), memory);
  for (const int depth : {0, 1, 3, 1000}) {
    for (const bool fused : {false, true}) {
      EXPECT_EQ(train(GetParam(), memory, frugal(depth, fused)), expected) << depth << fused;
    }
  }
}

TEST_P(BitEqualityTest, WithinEveryBudget) {
  const TrainedBits expected = train(GetParam(), {.allocator = "best-fit-pool"});
  SmallBudget small(
      {.model = GetParam(), .shape = small_shape(GetParam()), .batch_size = kBatchSize});
  for (const BudgetStep& point : small.budget.curve(5)) {
    for (const char* order : {"program", "optimal"}) {
      Context::Options options = frugal(0, order == kDefaultOrder, order);
      options.savings = point.savings;
      const MemoryOptions memory{.allocator = "planned", .guard = true, .check = true};
      EXPECT_EQ(train(GetParam(), memory, options), expected) << point.bytes << order;
    }
  }
}

// Steps of six images, in rounds of four and two. Lanes begin after the seventh.
struct ChainsRun {
  using Rounds = std::set<std::string, std::less<>>;

  ChainsRun(const MemoryOptions& memory, const std::string& order, Rounds rounds,
            std::size_t lanes = 1) {
    Context::Options options = frugal(0, order == kDefaultOrder, order);
    options.round_bytes = 0;
    options.savings = std::make_shared<const ByteSavings>(ByteSavings{.rounds = std::move(rounds)});
    options.compute = std::make_shared<CpuCompute>(
        CpuOptions{.lanes = lanes, .wake_seconds = 0, .lanes_must_pay = false});
    ModelShape shape = find_model("googlenet").shape;
    shape.height = shape.width = 79;
    ImageRun experiment(memory, options, {.model = "googlenet", .shape = shape});
    for (const Batch& batch : small_batches(shape, 6, 9)) {
      losses.push_back(experiment.train_step(batch, {.learning_rate = 1e-4f}));
    }
    parameters = parameters_sha256(experiment);
  }
  bool operator==(const ChainsRun&) const = default;

  std::vector<float> losses;
  std::string parameters;
};

TEST(BitEquality, OfChainsInRoundsAndNot) {
  const ChainsRun expected({.allocator = "best-fit-pool"}, "program", {});
  const MemoryOptions guarded{.allocator = "planned", .guard = true, .check = true};
  for (const ChainsRun::Rounds& rounds : {ChainsRun::Rounds{"conv2"}, {"conv1", "conv2"}}) {
    EXPECT_EQ(ChainsRun(guarded, "optimal", rounds), expected);
    if (rounds.size() == 1 && !runs_at_night()) continue;
    EXPECT_EQ(ChainsRun({.allocator = "caching"}, "program", rounds), expected);
    EXPECT_EQ(ChainsRun({.allocator = "planned"}, "program", rounds, 2), expected);
  }
}

TEST_P(BitEqualityTest, InEveryOrder) {
  const TrainedBits expected =
      train(GetParam(), {.allocator = "best-fit-pool"}, seeded(), kStepsInOrder);
  for (const OrderEntry& order : order_algorithms()) {
    for (const auto& [depth, fused] : {std::pair{0, false}, {0, true}, {3, true}}) {
      for (const char* allocator : {"planned", "caching"}) {
        const MemoryOptions memory{.allocator = allocator, .guard = true, .check = true};
        EXPECT_EQ(
            train(GetParam(), memory, frugal(depth, fused, std::string(order.name)), kStepsInOrder),
            expected)
            << order.name << depth << fused << allocator;
      }
    }
  }
}

// The plan stays, too: no request of an interrupted part is a deviation.
TEST_P(BitEqualityTest, WithAndWithoutInterruptedParts) {
  const ModelShape shape = small_shape(GetParam());
  ImageRun experiment({.allocator = "planned", .guard = true, .check = true}, seeded(),
                      {.model = GetParam(), .shape = shape});
  TrainedBits outcome;
  for (const Batch& batch : small_batches(shape, kBatchSize, kSteps)) {
    const bool measured = outcome.losses.size() % 3 == 1;
    experiment.measure_inference_loss(measured);
    outcome.losses.push_back(experiment.train_step(batch, small_params()));
    EXPECT_EQ(experiment.inference_loss().has_value(), measured);
    // lenet has neither dropout nor batch normalization.
    if (measured && GetParam() == "lenet") {
      EXPECT_EQ(static_cast<float>(*experiment.inference_loss()), outcome.losses.back());
    }
  }
  outcome.parameters = parameters_sha256(experiment);
  outcome.state = state_sha256(experiment);
  EXPECT_EQ(outcome, train(GetParam(), {.allocator = "best-fit-pool"}));
  const SessionStatistics figures = experiment.memory.session()->session_statistics();
  EXPECT_GT(figures.interrupted_requests, 0u);
  EXPECT_EQ(figures.deviations, 0u);
  EXPECT_EQ(figures.replans, 0u);
}

TEST_P(BitEqualityTest, AnotherSeedIsAnotherRun) {
  const ModelShape shape = small_shape(GetParam());
  const auto first_loss = [&](std::uint64_t seed) {
    ImageRun experiment({}, {.seed = seed}, {.model = GetParam(), .shape = shape});
    return experiment.train_step(small_batches(shape, kBatchSize, 1).front(), small_params());
  };
  EXPECT_NE(first_loss(1), first_loss(2));
}

// The paper's networks, three steps of two images: warm-up, the switch to the plan, and one from
// it. Drawing millions of parameters takes most of a run's time, so some networks, and all under
// sanitizers, only get the planned run.
class PaperNetworkBitEqualityTest : public ::testing::TestWithParam<PaperNetwork> {
 protected:
  // With two images a step, some of the deep networks diverge at higher rates.
  static constexpr UpdateParams kUpdate{.learning_rate = 1e-4f};

  // An experiment and the losses of its steps.
  struct Run {
    explicit Run(const MemoryOptions& memory, const Context::Options& options = seeded())
        : experiment(memory, options, {.model = GetParam().name, .shape = step_shape(GetParam())}) {
      for (const Batch& batch : small_batches(step_shape(GetParam()), 2, 3)) {
        losses.push_back(experiment.train_step(batch, kUpdate));
      }
    }
    std::vector<Tensor> tensors() const {
      std::vector<Tensor> all = values_of(experiment.model->parameters());
      for (const Tensor& value : values_of(experiment.model->buffers())) all.push_back(value);
      for (const Tensor& value : values_of(experiment.optimizer_state())) all.push_back(value);
      return all;
    }
    ImageRun experiment;
    std::vector<float> losses;
  };

  static void expect_equal(const Run& run, const Run& expected) {
    EXPECT_EQ(run.losses, expected.losses);
    const std::vector<Tensor> got = run.tensors(), wanted = expected.tensors();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].spec(), wanted[i].spec());
      EXPECT_EQ(std::memcmp(got[i].address(), wanted[i].address(), got[i].spec().bytes()), 0) << i;
    }
  }
};

TEST_P(PaperNetworkBitEqualityTest, UnderEveryAllocator) {
  const Run expected({.allocator = "best-fit-pool"});
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  const bool large = GetParam().parameters > (runs_at_night() ? 30'000'000 : 12'000'000);
  const bool thorough = effort(1) > 0 && !large;
  for (const std::string& allocator : allocator_names()) {
    const bool planned = allocator == kPlannedAllocator;
    if (allocator == "best-fit-pool" || (!planned && !thorough)) continue;
    SCOPED_TRACE(allocator);
    expect_equal(Run({.allocator = allocator, .guard = planned, .check = true}), expected);
  }
  SmallBudget small({.model = GetParam().name, .shape = step_shape(GetParam()), .batch_size = 2});
  Context::Options least = frugal(0, false, std::string(kDefaultOrder));
  least.savings = small.budget.curve(2).back().savings;
  ASSERT_TRUE(least.savings);
  expect_equal(Run({.allocator = "planned", .check = true}, least), expected);
  SCOPED_TRACE("recompute, fused updates");
  expect_equal(Run({.allocator = "planned", .guard = true, .check = true}, frugal(3, true)),
               expected);
}

INSTANTIATE_TEST_SUITE_P(Networks, PaperNetworkBitEqualityTest,
                         ::testing::ValuesIn(networks_by_day()),
                         [](const auto& tested) { return test_name(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(Networks, BitEqualityTest, ::testing::ValuesIn(small_model_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace skyline
