// Whole training steps on CUDA: the CPU's numbers to a tolerance, op by op, the same bits under
// every allocator, guards untouched, and no driver calls for memory after the switch to the plan.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "framework/cuda/make_cuda_compute.h"
#include "memory/allocators/allocators.h"
#include "tests/cuda/device_calls.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/decide/small_budget.h"
#include "tests/train/images/paper_training.h"
#include "tests/train/text/small_text_run.h"
#include "tests/train/translation/small_translation.h"
#include "train/options/memory_options.h"

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

// `ops`: see StepWatch::op_times.
Trained train(const MemoryOptions& memory, const Context::Options& options,
              const ImageRunOptions& network, std::size_t batch_size, std::size_t steps,
              std::vector<OpTime>* ops = nullptr) {
  ImageRun experiment(memory, options, network);
  experiment.context.watch() = {.check_finite = ops != nullptr, .op_times = ops};
  Trained trained;
  for (const Batch& batch : small_batches(network.shape, batch_size, steps)) {
    trained.losses.push_back(experiment.train_step(batch, small_params()));
  }
  trained.parameters = parameters_of(experiment);
  return trained;
}

// Prints a difference that a test allows, also when it passes: a card's sums have other orders than
// the emulation's, and only it tells how much that is.
void note_difference(const std::string& what, double largest, double tolerance) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  fmt::print("difference: {}.{} {} {:.2e} of {:.0e}\n", test.test_suite_name(), test.name(), what,
             largest, tolerance);
  std::fflush(stdout);
}

// Returns the largest difference, relative to the largest magnitude of the expected values.
double difference_of(std::span<const float> got, std::span<const float> expected) {
  double scale = 0, worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    scale = std::max(scale, std::fabs(double{expected[i]}));
    const double apart = std::fabs(double{got[i]} - expected[i]);
    worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
  }
  return worst == 0 ? 0 : worst / scale;
}

// Tolerances are relative to each loss.
void expect_losses_near(const Trained& got, const Trained& expected, double first, double later) {
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < got.losses.size(); ++i) {
    const double apart = difference_of({&got.losses[i], 1}, {&expected.losses[i], 1});
    const double tolerance = i == 0 ? first : later;
    EXPECT_LE(apart, tolerance) << i << ": " << got.losses[i] << ", not " << expected.losses[i];
    note_difference(fmt::format("loss {}", i), apart, tolerance);
  }
}

void expect_losses_near(const Trained& got, const Trained& expected, double tolerance) {
  expect_losses_near(got, expected, tolerance, tolerance);
}

// Later losses depend on the processor, see expect_ops_match_the_cpu(): those of resnet20 were
// 0.16 % apart on an H100.
void expect_losses_near_the_cpus(const Trained& got, const Trained& expected) {
  expect_losses_near(got, expected, 1e-4, 1e-2);
}

// `tolerance` is relative to the largest magnitude of a tensor.
void expect_near(const Trained& got, const Trained& expected, double tolerance) {
  expect_losses_near(got, expected, tolerance);
  ASSERT_EQ(got.parameters.size(), expected.parameters.size());
  double largest = 0;
  for (std::size_t p = 0; p < got.parameters.size(); ++p) {
    ASSERT_EQ(got.parameters[p].size(), expected.parameters[p].size());
    const double apart = difference_of(got.parameters[p], expected.parameters[p]);
    EXPECT_LE(apart, tolerance) << "parameter " << p;
    largest = std::max(largest, apart);
  }
  note_difference("parameters", largest, tolerance);
}

struct OpOutput {
  std::string op;
  std::vector<float> values;
};

// A device whose ops are seen one by one: under check_finite, a context reads each f32 output
// before the next op runs. The CPU's outputs of forward and backward are listed. Those of CUDA are
// compared with them and then overwritten by them, so that every op reads what it read on the CPU.
class OpByOp final : public Compute {
 public:
  static constexpr double kTolerance = 1e-4;

  OpByOp(std::shared_ptr<Compute> device, std::vector<OpOutput>& on_cpu)
      : device_(std::move(device)), on_cpu_(on_cpu) {}

  CudaCompute* cuda() noexcept override { return device_->cuda(); }
  CpuOptions cpu() const noexcept override { return device_->cpu(); }
  Runner& runner() noexcept override { return device_->runner(); }
  void write(std::byte* to, const void* host, std::size_t bytes) override {
    device_->write(to, host, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) override { device_->zero(to, bytes); }
  void wait() override { device_->wait(); }
  void read(void* host, const std::byte* from, std::size_t bytes) override {
    device_->read(host, from, bytes);
    // One update on CUDA is of many parameters, so those are compared after the step.
    if (ops.empty() || ops.back().phase == Phase::kUpdate) return;
    const std::span<const float> values(static_cast<const float*>(host), bytes / sizeof(float));
    const OpTime& op = ops.back();
    const std::string name =
        op_of_layer(op.name, op.layer) + ", " + std::string(phase_name(op.phase));
    if (cuda() == nullptr) {
      on_cpu_.push_back({name, {values.begin(), values.end()}});
      return;
    }
    ASSERT_LT(seen_, on_cpu_.size()) << name;
    const OpOutput& expected = on_cpu_[seen_++];
    ASSERT_EQ(name, expected.op);
    ASSERT_EQ(values.size(), expected.values.size()) << name;
    const double apart = difference_of(values, expected.values);
    EXPECT_LE(apart, kTolerance) << name;
    largest_ = std::max(largest_, apart);
    write(const_cast<std::byte*>(from), expected.values.data(), bytes);
  }

  std::size_t seen() const noexcept { return seen_; }   // outputs that were compared
  double largest() const noexcept { return largest_; }  // of their differences

  std::vector<OpTime> ops;  // see StepWatch::op_times

 private:
  std::shared_ptr<Compute> device_;
  std::vector<OpOutput>& on_cpu_;
  std::size_t seen_ = 0;
  double largest_ = 0;
};

// Expects of a step on CUDA that each op computes what it does on the CPU, given the same inputs.
// Results of whole steps depend on the processor: a relu whose input rounds to the other side of 0
// passes another gradient, and normalizations of few pixels magnify that. With images changed by
// 1e-7, one relu of inception-resnet-figure changes the CPU's own parameters by 0.9 % of the
// largest.
void expect_ops_match_the_cpu(Context::Options options, const ImageRunOptions& network,
                              std::size_t batch_size) {
  std::vector<OpOutput> outputs;
  const auto step = [&](const MemoryOptions& memory, const std::shared_ptr<OpByOp>& compute) {
    options.compute = compute;
    return train(memory, options, network, batch_size, 1, &compute->ops);
  };
  const auto cpu = std::make_shared<OpByOp>(std::make_shared<CpuCompute>(), outputs);
  const auto cuda = std::make_shared<OpByOp>(on_cuda().compute, outputs);
  const Trained expected = step({}, cpu), got = step(cuda_memory("planned"), cuda);
  EXPECT_EQ(cuda->seen(), outputs.size());
  note_difference(fmt::format("{} outputs of ops", outputs.size()), cuda->largest(),
                  OpByOp::kTolerance);
  expect_near(got, expected, 1e-6);
}

class CudaTraining : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::size_t kBatchSize = 4;
  static constexpr std::size_t kSteps = 3;  // warm-up, the switch, planned
  const ModelShape shape_ = small_shape(GetParam());

  Trained train_on(const MemoryOptions& memory, const Context::Options& options,
                   const StepShares& shares = {}) const {
    return train(memory, options, network(shares), kBatchSize, kSteps);
  }
  ImageRunOptions network(const StepShares& shares = {}) const {
    return {.model = GetParam(), .shape = shape_, .shares = shares};
  }
};

TEST_P(CudaTraining, MatchesTheCpu) {
  const Trained expected = train_on({}, seeded());
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  expect_losses_near_the_cpus(train_on(cuda_memory("planned"), on_cuda()), expected);
  expect_ops_match_the_cpu(seeded(), network(), kBatchSize);
}

TEST_P(CudaTraining, GivesTheSameBitsUnderEveryAllocatorAndWithGuards) {
  const Trained expected = train_on(cuda_memory("best-fit-pool"), on_cuda());
  // The small networks meet all allocators.
  const bool all = GetParam() != "resnet20" || runs_at_night();
  for (const std::string& allocator : cuda_allocator_names()) {
    if (!all && allocator != "cuda-async" && allocator != kPlannedAllocator) continue;
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

// One op updates what decays, another what does not.
TEST_P(CudaTraining, DecaysWeightsAloneAndSmoothsAndWeighsAsTheCpu) {
  ImageRunOptions judged = network();
  judged.optimizer = {.weight_decay = 0.1f, .decay_weights_only = true};
  judged.label_smoothing = 0.1f;
  for (int k = 0; k < shape_.classes; ++k)
    judged.class_weights.push_back(1 + 0.5f * static_cast<float>(k % 3));
  Context::Options fused = on_cuda();
  fused.fused_update = true;
  const Trained got = train(cuda_memory("planned", true), on_cuda(), judged, kBatchSize, kSteps);
  expect_losses_near_the_cpus(got, train({}, seeded(), judged, kBatchSize, kSteps));
  expect_ops_match_the_cpu(seeded(), judged, kBatchSize);
  EXPECT_EQ(train(cuda_memory("planned"), fused, judged, kBatchSize, kSteps), got);
}

TEST_P(CudaTraining, AddsTheGradientsOfMicroBatches) {
  Context::Options options = on_cuda();
  const StepShares shares{.micro_batches = 2};
  const Trained expected = train_on(cuda_memory("planned", true), options, shares);
  options.prefetch = true;
  EXPECT_EQ(train_on(cuda_memory("planned"), options, shares), expected);
  expect_losses_near_the_cpus(expected, train_on({}, seeded(), shares));
  expect_ops_match_the_cpu(seeded(), network(shares), kBatchSize);
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
  const Device& device = experiment.memory.device();
  DeviceCalls before;
  DeviceStatistics ranges;
  std::size_t step = 0;
  for (const Batch& batch : small_batches(shape_, kBatchSize, 5)) {
    if (step++ == 2) {  // after warm-up and the first planned step
      before = device_calls();
      ranges = device.statistics();
    }
    experiment.train_step(batch, small_params());
  }
  EXPECT_EQ(device_calls(), before);
  EXPECT_EQ(device.statistics().allocations, ranges.allocations);
  EXPECT_EQ(device.statistics().frees, ranges.frees);
  EXPECT_EQ(device.statistics().reserved_bytes, ranges.reserved_bytes);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaTraining, ::testing::ValuesIn(small_model_names()),
                         [](const auto& tested) { return tested.param; });

// --- engines by measurement ---

// lenet, trained with measured engines.
struct MeasuredTraining {
  explicit MeasuredTraining(const EngineChoices& known = {}) : choices(known) {
    const ModelShape shape = small_shape("lenet");
    Context::Options options = seeded();
    options.compute = make_cuda_compute({.deterministic = true,
                                         .measured = true,
                                         .on_timed = [this](const TimedEngines&) { ++timed; },
                                         .engines = &choices});
    trained = train(cuda_memory("planned"), options, {.model = "lenet", .shape = shape}, 4, 3);
  }

  EngineChoices choices;
  std::size_t timed = 0;  // problems
  Trained trained;
};

TEST(CudaMeasuredEngines, TrainToTheCpusLosses) {
  const MeasuredTraining measured;
  expect_losses_near(measured.trained,
                     train({}, seeded(), {.model = "lenet", .shape = small_shape("lenet")}, 4, 3),
                     1e-4);
}

TEST(CudaMeasuredEngines, AreThoseOfTheFileInTheNextRun) {
  const MeasuredTraining first;
  ASSERT_FALSE(first.choices.by_problem.empty());
  const MeasuredTraining second(EngineChoices::from_json(first.choices.to_json(), "engines.json"));
  EXPECT_EQ(second.timed, 0u);
  EXPECT_EQ(second.choices.by_problem, first.choices.by_problem);
  EXPECT_EQ(second.trained, first.trained);
}

TEST(CudaMeasuredEngines, HaveSeconds) {
  const MeasuredTraining measured;
  if (measured.choices.cudnn == 0) GTEST_SKIP() << "the emulation has no cuDNN to measure";
  EXPECT_EQ(measured.timed, measured.choices.by_problem.size());
  for (const auto& [problem, choice] : measured.choices.by_problem) {
    EXPECT_GT(choice.seconds, 0) << problem;
  }
}

// --- the paper's networks ---

// The paper's networks on their smallest images. Networks that end at one pixel need several
// images: batch normalization of one number gives zero.
struct PaperCase {
  std::string name;
  std::size_t images = 1;
};

void PrintTo(const PaperCase& tested, std::ostream* out) { *out << tested.name; }

class CudaPaperTraining : public ::testing::TestWithParam<PaperCase> {};

TEST_P(CudaPaperTraining, StepMatchesTheCpu) {
  const auto& [name, images] = GetParam();
  const auto found = std::ranges::find(paper_networks(), name, &PaperNetwork::name);
  expect_ops_match_the_cpu(seeded(), {.model = name, .shape = step_shape(*found)}, images);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaPaperTraining,
                         ::testing::Values(PaperCase{"alexnet"}, PaperCase{"googlenet"},
                                           PaperCase{"inception-resnet-figure"},
                                           PaperCase{"resnet18", 4}),
                         [](const auto& tested) { return test_name(tested.param.name); });

// On small images its 52 normalizations average few numbers and magnify rounding: images changed by
// 5e-7 change the CPU's own parameters as much as another device does. So only the loss is
// compared, and not its ops either: of a linear bottleneck's values, the means cancel to rounding.
TEST(CudaMobileNetV2, LossMatchesTheCpuAndStepsGiveTheSameBits) {
  const std::string name = "mobilenet_v2";
  const ModelShape shape = with_images(name, 64);
  const auto train_on = [&](const MemoryOptions& memory, const Context::Options& options) {
    return train(memory, options, {.model = name, .shape = shape}, 4, 2);
  };
  const Trained got = train_on(cuda_memory("planned"), on_cuda());
  expect_losses_near({.losses = {got.losses.front()}},
                     {.losses = {train_on({}, seeded()).losses.front()}}, 1e-4);
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

// Returns the trace of a run's last step, which its graph, simulated, and a dry run have, too.
// steps(memory, options) returns the run after some steps.
template <typename Steps>
Trace expect_one_trace(const Steps& steps) {
  const auto record = [&steps](const std::string& device) {
    Context::Options options = on_cuda();
    if (device == "simulated") options.dry_run.emplace();
    const auto run = steps(MemoryOptions{.device = device, .allocator = "best-fit-pool"}, options);
    const Trace recorded = run->memory.recording()->last_step();
    const Trace simulated = simulate(run->context.step_graph());
    EXPECT_TRUE(recorded.same_requests(simulated)) << device;
    EXPECT_EQ(recorded.tags, simulated.tags) << device;
    return recorded;
  };
  const Trace recorded = record("cuda"), dry = record("simulated");
  EXPECT_TRUE(recorded.same_requests(dry));
  EXPECT_EQ(recorded.tags, dry.tags);
  return recorded;
}

// Words are sorted in temporary storage of Thrust, which is a request of the step.
TEST(CudaTranslation, RecordedSimulatedAndDryStepsAreOne) {
  const TranslationData data = small_text();
  const Trace recorded =
      expect_one_trace([&](const MemoryOptions& memory, const Context::Options& options) {
        auto run = std::make_unique<TranslationRun>(
            memory, options, small_run(small_seq2seq(data), {.record = true}));
        run->context.watch().record_graph = true;
        run_steps(*run, small_pair_batches(data, 2));
        return run;
      });
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
    EXPECT_EQ(translate(cuda_memory(allocator, allocator == kPlannedAllocator), on_cuda(), false),
              expected)
        << allocator;
  }
}

Trained train_text(const MemoryOptions& memory, const Context::Options& options) {
  TextRun run(memory, options, small_gpt(), &small_sums());
  Trained trained;
  trained.losses = run_steps(run, 4);
  trained.parameters = parameters_of(run);
  return trained;
}

TEST(CudaText, MatchesTheCpu) {
  const Trained got = train_text(cuda_memory("planned"), on_cuda());
  const Trained expected = train_text({}, seeded());
  expect_losses_near(got, expected, 1e-5);
  expect_near(got, expected, 1e-3);  // AdamW divides gradients near 0 by their own size
}

TEST(CudaText, RecordedSimulatedAndDryStepsAreOne) {
  expect_one_trace([](const MemoryOptions& memory, const Context::Options& options) {
    auto run =
        std::make_unique<TextRun>(memory, options, small_gpt({.record = true}), &small_sums());
    run->context.watch().record_graph = true;
    run_steps(*run, 2);
    return run;
  });
}

TEST(CudaText, GivesTheSameBitsFromAPlanOnLessMemory) {
  Context::Options frugal = on_cuda();
  frugal.recompute = 2;
  EXPECT_EQ(train_text(cuda_memory("planned", true), frugal),
            train_text(cuda_memory("best-fit-pool"), on_cuda()));
}

}  // namespace
}  // namespace skyline
