// Whole training steps on CUDA: the CPU's numbers to a tolerance, the same bits under every
// allocator, guards untouched, and no driver calls for memory after the switch to the plan.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/cuda/make_cuda_compute.h"
#include "memory/allocators/allocators.h"
#include "tests/cuda/device_calls.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/budget/small_budget.h"
#include "tests/train/images/paper_training.h"
#include "tests/train/translation/small_translation.h"
#include "train/options/allocator_names.h"

namespace skyline {
namespace {

using namespace tests;

Context::Options on_cuda() {
  Context::Options options = seeded();
  options.compute = make_cuda_compute({.deterministic = true});
  return options;
}

MemoryOptions cuda_memory(const std::string& allocator, bool guard = false) {
  return {.device = "cuda", .allocator = allocator, .guard = guard, .check = true};
}

std::vector<std::string> cuda_allocator_names() {
  std::vector<std::string> names = allocator_names();
  for (const AllocatorEntry& entry : cuda_allocator_table()) names.emplace_back(entry.name);
  return names;
}

struct Trained {
  std::vector<float> losses;
  std::vector<std::vector<float>> parameters;
  bool operator==(const Trained&) const = default;
};

std::vector<std::vector<float>> parameters_of(ModelRun& run) {
  std::vector<std::vector<float>> all;
  for (const Parameter& parameter : run.network().parameters()) {
    std::vector<float> host(static_cast<std::size_t>(parameter.value.shape().elements()));
    run.context.compute().read(host.data(), parameter.value.address(),
                               parameter.value.spec().bytes());
    all.push_back(std::move(host));
  }
  return all;
}

Trained train(const MemoryOptions& memory, const Context::Options& options,
              const std::string& model, const ModelShape& shape, std::size_t batch_size,
              std::size_t steps) {
  ImageRun experiment(memory, options, {.model = model, .shape = shape});
  Trained trained;
  for (const Batch& batch : small_batches(shape, batch_size, steps)) {
    trained.losses.push_back(experiment.step(batch, small_params()));
  }
  trained.parameters = parameters_of(experiment);
  return trained;
}

void expect_losses_near(const Trained& got, const Trained& expected, double tolerance) {
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < got.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], expected.losses[i], tolerance * std::fabs(expected.losses[i])) << i;
  }
}

// `tolerance` is relative to the largest magnitude of a tensor.
void expect_near(const Trained& got, const Trained& expected, double tolerance) {
  expect_losses_near(got, expected, tolerance);
  ASSERT_EQ(got.parameters.size(), expected.parameters.size());
  for (std::size_t p = 0; p < got.parameters.size(); ++p) {
    const std::vector<float>&a = got.parameters[p], &b = expected.parameters[p];
    ASSERT_EQ(a.size(), b.size());
    double scale = 0, worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      scale = std::max(scale, std::fabs(double{b[i]}));
      worst = std::max(worst, std::fabs(double{a[i]} - b[i]));
    }
    EXPECT_LE(worst, tolerance * scale) << "parameter " << p;
  }
}

class CudaTraining : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::size_t kBatchSize = 4;
  static constexpr std::size_t kSteps = 3;  // warm-up, the switch, planned
  const ModelShape shape_ = small_shape(GetParam());

  Trained train_on(const MemoryOptions& memory, const Context::Options& options,
                   std::size_t steps = kSteps) const {
    return train(memory, options, GetParam(), shape_, kBatchSize, steps);
  }
};

// Parameters are compared after one step: in the next, a relu whose input rounds to another sign
// passes another gradient, so that they depend on the instructions of the processor.
TEST_P(CudaTraining, MatchesTheCpu) {
  const Trained expected = train_on({}, seeded());
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  expect_losses_near(train_on(cuda_memory("planned"), on_cuda()), expected, 1e-4);
  expect_near(train_on(cuda_memory("planned"), on_cuda(), 1), train_on({}, seeded(), 1), 2e-5);
}

TEST_P(CudaTraining, GivesTheSameBitsUnderEveryAllocatorAndWithGuards) {
  const Trained expected = train_on(cuda_memory("best-fit-pool"), on_cuda());
  for (const std::string& allocator : cuda_allocator_names()) {
    if (effort(1) == 0 && allocator != "cuda-async" && allocator != kPlannedAllocator) continue;
    EXPECT_EQ(train_on(cuda_memory(allocator), on_cuda()), expected) << allocator;
  }
  EXPECT_EQ(train_on(cuda_memory("planned", true), on_cuda()), expected) << "with guards";
}

TEST_P(CudaTraining, GivesTheSameBitsWithPrefetchedInputs) {
  Context::Options prefetching = on_cuda();
  prefetching.prefetch = true;
  const Trained expected = train_on(cuda_memory("planned"), on_cuda());
  EXPECT_EQ(train_on(cuda_memory("planned"), prefetching), expected);
  EXPECT_EQ(train_on(cuda_memory("planned", true), prefetching), expected) << "with guards";
}

TEST_P(CudaTraining, GivesTheSameBitsWithRecomputeAndFusedUpdates) {
  Context::Options frugal = on_cuda();
  frugal.recompute = 3;
  frugal.fused_update = true;
  EXPECT_EQ(train_on(cuda_memory("planned", true), frugal),
            train_on(cuda_memory("planned"), on_cuda()));
}

TEST_P(CudaTraining, AddsTheGradientsOfMicroBatches) {
  Context::Options options = on_cuda();
  options.micro_batches = 2;
  const Trained expected = train_on(cuda_memory("planned", true), options);
  options.prefetch = true;
  EXPECT_EQ(train_on(cuda_memory("planned"), options), expected);
  Context::Options on_cpu = seeded();
  on_cpu.micro_batches = 2;
  expect_losses_near(expected, train_on({}, on_cpu), 1e-4);
  expect_near(train_on(cuda_memory("planned"), options, 1), train_on({}, on_cpu, 1), 2e-5);
}

TEST_P(CudaTraining, GivesTheSameBitsWithinABudget) {
  SmallBudget small({.model = GetParam(),
                     .shape = shape_,
                     .batch_size = kBatchSize,
                     .compute = on_cuda().compute});
  const Trained expected = train_on(cuda_memory("planned"), on_cuda());
  for (const BudgetStep& point : small.budget.curve(3)) {
    Context::Options options = on_cuda();
    options.savings = point.savings;
    EXPECT_EQ(train_on(cuda_memory("planned", true), options), expected) << point.bytes;
  }
}

TEST_P(CudaTraining, AsksTheDriverForNothingAfterTheSwitch) {
  Context::Options options = on_cuda();
  options.prefetch = true;
  ImageRun experiment(cuda_memory("planned"), options, {.model = GetParam(), .shape = shape_});
  DeviceCalls before;
  std::size_t step = 0;
  for (const Batch& batch : small_batches(shape_, kBatchSize, 5)) {
    if (step++ == 2) before = device_calls();  // after warm-up and the first planned step
    experiment.step(batch, small_params());
  }
  EXPECT_EQ(device_calls(), before);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaTraining, ::testing::ValuesIn(small_model_names()),
                         [](const auto& tested) { return tested.param; });

// The paper's networks on their smallest images. Networks that end at one pixel need several
// images: batch normalization of one number gives zero.
struct PaperCase {
  std::string name;
  std::size_t images = 1;
};

void PrintTo(const PaperCase& tested, std::ostream* out) { *out << tested.name; }

class CudaPaperTraining : public ::testing::TestWithParam<PaperCase> {};

TEST_P(CudaPaperTraining, StepMatchesTheCpu) {
  if (effort(1) == 0) GTEST_SKIP() << "too slow under sanitizers";
  const auto& [name, images] = GetParam();
  const auto found = std::ranges::find(paper_networks(), name, &PaperNetwork::name);
  const ModelShape shape = step_shape(*found);
  const Trained expected = train({}, seeded(), name, shape, images, 1);
  expect_near(train(cuda_memory("planned"), on_cuda(), name, shape, images, 1), expected, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaPaperTraining,
                         ::testing::Values(PaperCase{"alexnet"}, PaperCase{"googlenet"},
                                           PaperCase{"inception-resnet-figure"},
                                           PaperCase{"resnet18", 4}),
                         [](const auto& tested) { return test_name(tested.param.name); });

// On small images its 52 normalizations average few numbers and magnify rounding: images changed by
// 5e-7 change the CPU's own parameters as much as another device does. So only the loss is
// compared.
TEST(CudaMobileNetV2, LossMatchesTheCpuAndStepsGiveTheSameBits) {
  if (effort(1) == 0) GTEST_SKIP() << "too slow under sanitizers";
  const std::string name = "mobilenet_v2";
  const ModelShape shape = with_images(name, 64);
  const auto train_on = [&](const MemoryOptions& memory, const Context::Options& options) {
    return train(memory, options, name, shape, 4, 2);
  };
  const float expected = train_on({}, seeded()).losses.front();
  const Trained got = train_on(cuda_memory("planned"), on_cuda());
  EXPECT_NEAR(got.losses.front(), expected, 1e-4 * expected);
  Context::Options frugal = on_cuda();
  frugal.recompute = 3;
  frugal.fused_update = true;
  EXPECT_EQ(train_on(cuda_memory("planned", true), frugal), got);
}

Trained translate(const MemoryOptions& memory, const Context::Options& options, bool unroll) {
  const TranslationData data = small_text();
  TranslationRun experiment(memory, options, small_run(small_seq2seq(data, unroll)));
  Trained trained;
  trained.losses = run_steps(experiment, small_pair_batches(data, 4));
  trained.parameters = parameters_of(experiment);
  return trained;
}

TEST(CudaTranslation, MatchesTheCpu) {
  for (const bool unroll : {false, true}) {
    expect_near(translate(cuda_memory("planned"), on_cuda(), unroll),
                translate({}, seeded(), unroll), 1e-4);
  }
}

// Words are sorted in temporary storage of Thrust, which is a request of the step.
TEST(CudaTranslation, RecordedSimulatedAndDryStepsAreOne) {
  const TranslationData data = small_text();
  const auto record = [&data](const std::string& device, bool execute) {
    Context::Options options = on_cuda();
    options.record_graph = true;
    options.execute = execute;
    TranslationRun run({.device = device, .allocator = "best-fit-pool", .record = true}, options,
                       small_run(small_seq2seq(data)));
    run_steps(run, small_pair_batches(data, 2));
    const Trace recorded = run.memory.recording()->last_step();
    const Trace simulated = simulate(run.context.step_graph());
    EXPECT_TRUE(recorded.same_requests(simulated)) << device;
    EXPECT_EQ(recorded.tags, simulated.tags) << device;
    return recorded;
  };
  const Trace recorded = record("cuda", true);
  const Trace dry = record("simulated", false);
  EXPECT_TRUE(recorded.same_requests(dry));
  EXPECT_EQ(recorded.tags, dry.tags);
  EXPECT_EQ(std::ranges::count_if(recorded.tags,
                                  [](const BlockTag& tag) {
                                    return tag.op == "embedding_grad" &&
                                           tag.category == Category::kWorkspace;
                                  }),
            2);  // one a language
}

TEST(CudaTranslation, GivesTheSameBitsUnderEveryAllocator) {
  const Trained expected = translate(cuda_memory("best-fit-pool"), on_cuda(), false);
  for (const std::string& allocator : cuda_allocator_names()) {
    if (effort(1) == 0 && allocator != kPlannedAllocator) continue;
    EXPECT_EQ(translate(cuda_memory(allocator, allocator == kPlannedAllocator), on_cuda(), false),
              expected)
        << allocator;
  }
}

}  // namespace
}  // namespace skyline
