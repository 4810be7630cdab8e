// A step of several batches: its update sees the gradients of the batches, each computed by itself,
// added in their order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "framework/lanes/step_lanes.h"
#include "framework/ops/optimizer/updates.h"
#include "memory/order/order.h"
#include "models/models.h"
#include "tests/framework/eager_updates.h"
#include "tests/train/decided_run.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/options/memory_options.h"
#include "train/state/training_state.h"

namespace skyline {
namespace {

using namespace tests;

constexpr std::int64_t kMicroBatches = 3;
constexpr std::int64_t kMicroSteps = 4;
constexpr float kRate = 0.01f;

struct MicroCase {
  std::string model, optimizer;
  bool unroll = false;
};

void PrintTo(const MicroCase& tested, std::ostream* out) { *out << tested.model; }

// Epochs of ten batches of images, so that one of them fills no step. GoogLeNet and seq2seq draw
// random numbers, resnet20 has running values.
TrainOptions options_of(const MicroCase& tested) {
  const bool large = tested.model == "googlenet";
  TrainOptions options;
  options.model = tested.model;
  options.optimizer = tested.optimizer;
  options.batch_size = large ? 2 : 4;
  options.threads = 1;
  options.seed = 7;
  options.data.images = 10 * options.batch_size;
  options.data.test_images = 8;
  if (large) options.data.insize = 79;
  options.text.pairs = 96;
  options.text.units = 16;
  options.text.dropout = 0.2;
  options.text.clip = 0;
  options.text.unroll = tested.unroll;
  options.step.micro_batches = kMicroBatches;
  options.memory.allocator = "best-fit-pool";
  return options;
}

std::vector<Tensor> tensors_of(const ModelRun& run) {
  std::vector<Tensor> all = values_of(run.network().parameters());
  for (const Tensor& value : values_of(run.network().buffers())) all.push_back(value);
  for (const Tensor& value : values_of(run.optimizer_state())) all.push_back(value);
  return all;
}

struct MicroBits {
  std::vector<float> losses;
  std::string tensors;
  std::uint64_t next_stream = 0;
  bool operator==(const MicroBits&) const = default;
};

// A run with its data.
struct Training {
  explicit Training(const TrainOptions& given)
      : options(resolved(given)),
        decided(decided_workload(options, {}, console)),
        run(run_on(decided, options.memory, {.record = true})) {
    run->seek({}, options.data.seed);
  }

  void steps(std::int64_t last) {
    for (std::int64_t step = std::ssize(losses) + 1; step <= last; ++step) {
      run->next();
      losses.push_back(run->train_step({.learning_rate = kRate, .step = step}));
    }
  }
  MicroBits bits() {
    return {losses, tensors_sha256(run->context, tensors_of(*run)), run->context.random().next};
  }

  std::ostringstream messages;
  Console console{messages, {}};
  TrainOptions options;
  DecidedWorkload decided;
  std::unique_ptr<ModelRun> run;
  std::vector<float> losses;
};

MicroBits trained(const TrainOptions& options, std::int64_t steps = kMicroSteps) {
  Training training(options);
  training.steps(steps);
  return training.bits();
}

// The same steps from single batches: one backward pass each, sums in plain loops, one update.
class Reference {
 public:
  explicit Reference(TrainOptions options) : training_(single(std::move(options))) {}

  MicroBits trained() {
    const std::int64_t batches = training_.decided.workload->data().batches_per_epoch;
    for (std::int64_t step = 1, batch = 0; step <= kMicroSteps; ++step) {
      for (; batches - batch < kMicroBatches && batch > 0; batch = (batch + 1) % batches) {
        training_.run->next();  // fills no step
      }
      training_.losses.push_back(add_gradients());
      batch = (batch + kMicroBatches) % batches;
      update(step);
    }
    return training_.bits();
  }

 private:
  static TrainOptions single(TrainOptions options) {
    options.step.micro_batches = 1;
    return options;
  }

  // Runs the batches of a step; returns their mean loss and leaves the sum in the gradients. Each
  // batch draws from where the step began, with its number in the upper bits, and only the first
  // changes running values.
  float add_gradients() {
    ModelRun& run = *training_.run;
    RandomStream& random = run.context.random();
    const std::uint64_t first = random.next;
    std::uint64_t end = first;
    double losses = 0;
    Values sums, running;
    for (std::uint64_t batch = 0; batch < kMicroBatches; ++batch) {
      random.next = batch << 40 | first;
      losses += one_batch();
      end = std::max(end, random.next - (batch << 40));
      const Values gradients = read(gradients_of(run));
      if (batch == 0) {
        sums = gradients;
        running = read(values_of(run.network().buffers()));
        continue;
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t k = 0; k < sums[i].size(); ++k) sums[i][k] += gradients[i][k];
      }
    }
    random.next = end;
    write(gradients_of(run), sums);
    write(values_of(run.network().buffers()), running);
    return static_cast<float>(losses / kMicroBatches);
  }

  float one_batch() {
    ModelRun& run = *training_.run;
    run.next();
    run.context.begin_step(run.shape_key());
    Tensor loss = run.loss_of(0).loss;
    float value = 0;
    run.context.download(loss, &value);
    BackwardGraph(run.context, std::move(loss), {.seed = 1.0f / kMicroBatches}).run(run.context);
    run.context.end_step();
    return value;
  }

  using Values = std::vector<std::vector<float>>;

  static std::vector<Tensor> gradients_of(const ModelRun& run) {
    std::vector<Tensor> gradients;
    for (const Parameter& parameter : run.network().parameters()) {
      gradients.push_back(parameter.gradient);
    }
    return gradients;
  }

  static Values read(const std::vector<Tensor>& tensors) {
    Values values;
    for (const Tensor& tensor : tensors) {
      const auto* first = reinterpret_cast<const float*>(tensor.address());
      values.emplace_back(first, first + tensor.shape().elements());
    }
    return values;
  }

  void write(const std::vector<Tensor>& tensors, const Values& values) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      training_.run->context.write(tensors[i], values[i].data());
    }
  }

  void update(std::int64_t step) {
    ModelRun& run = *training_.run;
    const OptimizerOptions options = optimizer_options(training_.options);
    const auto parameters = run.network().parameters();
    const auto state = run.optimizer_state();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (options.name == "adam") {
        run_update(run.context, *adam_op({.alpha = kRate, .step = step}), parameters[i],
                   {state[2 * i].value, state[2 * i + 1].value});
      } else {
        const SgdParams params{kRate, options.momentum, options.weight_decay};
        run_update(run.context, *sgd_momentum_op(params), parameters[i], {state[i].value});
      }
    }
  }

  Training training_;
};

class MicroBatches : public ::testing::TestWithParam<MicroCase> {
 protected:
  static bool large() { return GetParam().model == "googlenet"; }
};

TEST_P(MicroBatches, AreGradientsOfSingleBatchesAddedInOrder) {
  const TrainOptions options = options_of(GetParam());
  const MicroBits got = trained(options);
  EXPECT_EQ(got, Reference(options).trained());
  EXPECT_NE(got.losses.front(), got.losses.back());
}

TEST_P(MicroBatches, HaveTheSameBitsUnderEveryAllocator) {
  TrainOptions options = options_of(GetParam());
  const MicroBits expected = trained(options);
  options.memory.check = true;
  for (const std::string& allocator : allocator_names()) {
    if (large() && allocator != kPlannedAllocator) continue;
    options.memory.allocator = allocator;
    Training training(options);
    training.steps(kMicroSteps);
    EXPECT_EQ(training.bits(), expected) << allocator;
    const Session* session = training.run->memory.session();
    if (session == nullptr || training.options.memory.policy == ShapePolicy::kGrow) continue;
    EXPECT_EQ(session->session_statistics().deviations, 0u);
    EXPECT_GT(session->session_statistics().planned_steps, 0u);
  }
}

TEST_P(MicroBatches, HaveTheSameBitsHoweverTheStepSavesMemory) {
  const TrainOptions options = options_of(GetParam());
  const MicroBits expected = trained(options);
  TrainOptions other = options;
  other.memory = {.allocator = std::string(kPlannedAllocator), .check = true};
  other.step.in_place = false;
  EXPECT_EQ(trained(other), expected);
  other.step.in_place = true;
  other.step.recompute = 3;
  for (const OrderEntry& order : order_algorithms()) {
    if (large() && order.name != kDefaultOrder) continue;
    other.step.order = order.name;
    EXPECT_EQ(trained(other), expected) << order.name;
  }
}

TEST_P(MicroBatches, HaveTheSameBitsOnLanes) {
  const std::int64_t steps = StepLanes::kStepsBefore + 3;
  TrainOptions options = options_of(GetParam());
  const MicroBits expected = trained(options, steps);
  options.device.lanes = 2;
  EXPECT_EQ(trained(options, steps), expected);
}

// Steps whose peak is not at a large weight.
class MicroBatchesWithinABudget : public MicroBatches {};

TEST_P(MicroBatchesWithinABudget, FitAndHaveTheSameBits) {
  TrainOptions options = options_of(GetParam());
  const MicroBits expected = trained(options);
  options.memory = {.allocator = std::string(kPlannedAllocator)};
  options.step.memory_bytes = std::uint64_t{1} << 40;
  const BudgetAnswer unlimited = Training(options).decided.decisions.budget.value();
  ASSERT_LT(unlimited.least_bytes, unlimited.unlimited_bytes);
  options.step.memory_bytes = (unlimited.unlimited_bytes + unlimited.least_bytes) / 2;
  Training training(options);
  training.steps(kMicroSteps);
  EXPECT_EQ(training.bits(), expected);
  EXPECT_GT(training.decided.decisions.budget->recomputed, 0u);
  EXPECT_LE(training.run->memory.device().statistics().peak_reserved_bytes,
            *options.step.memory_bytes);
}

TEST_P(MicroBatches, RecordedSimulatedAndDryStepsAreOne) {
  TrainOptions options = options_of(GetParam());
  Training training(options);
  training.run->context.watch().record_graph = true;
  for (const std::int64_t step : {1, 2}) {
    training.steps(step);
    const Trace& recorded = training.run->memory.recording()->last_step();
    const Trace simulated = simulate(training.run->context.step_graph());
    EXPECT_TRUE(recorded.same_requests(simulated));
    EXPECT_EQ(recorded.tags, simulated.tags);
    const DryRunFacts dry = longest_step(training.decided);
    EXPECT_TRUE(translates(options) || recorded.same_requests(dry.trace));
    EXPECT_EQ(dry.step.batches.size(), static_cast<std::size_t>(kMicroBatches));
  }
}

// Small models, whose checkpoints are small.
class ResumedMicroBatches : public MicroBatches {};

TEST_P(ResumedMicroBatches, GoOnAfterAnyStepAsIfNothingHadHappened) {
  TrainOptions options = options_of(GetParam());
  options.memory.allocator = kPlannedAllocator;
  const MicroBits expected = trained(options);
  Training first(options);
  const std::int64_t batches = first.decided.workload->data().batches_per_epoch;
  EXPECT_EQ(batches % kMicroBatches, 0);
  for (std::int64_t step = 1; step < kMicroSteps; ++step) {
    first.steps(step);
    TrainingPosition position{.step = step,
                              .epoch = step * kMicroBatches / batches,
                              .batch = step * kMicroBatches % batches};
    Training second(options);
    restore(*second.run, capture(*first.run, position));
    second.run->seek(
        {static_cast<std::uint64_t>(position.epoch), static_cast<std::uint64_t>(position.batch)},
        second.options.data.seed);
    second.losses = first.losses;
    second.steps(kMicroSteps);
    EXPECT_EQ(second.bits().tensors, expected.tensors) << step;
    EXPECT_EQ(second.losses, expected.losses) << step;
  }
}

const MicroCase kMlp{"mlp", "adam"}, kLenet{"lenet", "sgd"}, kResNet{"resnet20", "adam"},
    kGoogLeNet{"googlenet", "sgd"}, kSeq2SeqCase{"seq2seq", "adam"},
    kUnrolled{"seq2seq", "sgd", true};

std::string micro_case_name(const ::testing::TestParamInfo<MicroCase>& tested) {
  return tested.param.model + (tested.param.unroll ? "_unrolled" : "");
}

INSTANTIATE_TEST_SUITE_P(Networks, MicroBatches,
                         ::testing::Values(kMlp, kLenet, kResNet, kGoogLeNet, kSeq2SeqCase,
                                           kUnrolled),
                         micro_case_name);
INSTANTIATE_TEST_SUITE_P(Networks, MicroBatchesWithinABudget,
                         ::testing::Values(kResNet, kSeq2SeqCase, kUnrolled), micro_case_name);
INSTANTIATE_TEST_SUITE_P(Networks, ResumedMicroBatches,
                         ::testing::Values(kMlp, kLenet, kResNet, kSeq2SeqCase, kUnrolled),
                         micro_case_name);

DryRunFacts resnet20(std::int64_t batch_size, std::int64_t micro_batches) {
  return dry_run({.model = "resnet20",
                  .shape = find_model("resnet20").shape,
                  .batch_size = batch_size,
                  .step = {.micro_batches = micro_batches}});
}

TEST(MicroBatchesOfAStep, NeedLessMemoryThanOneBatchOfAllTheirImages) {
  const DryRunFacts whole = resnet20(32, 1), parts = resnet20(8, 4);
  EXPECT_EQ(parts.resident_bytes, whole.resident_bytes);
  EXPECT_LT(2 * lower_bound_bytes(parts.trace, kAlignmentBytes),
            lower_bound_bytes(whole.trace, kAlignmentBytes));
}

TEST(MicroBatchesOfAStep, TheLastHasTheMostBytesAliveAndIsAStepOfItsOwn) {
  const DryRunFacts step = resnet20(4, 3);
  const DryRunFacts last = last_batch(step);
  EXPECT_EQ(last.step.graph.ops.size(), step.step.graph.ops.size() - step.step.batches.back());
  EXPECT_EQ(last.step.graph.ops.front().name, "upload");
  EXPECT_EQ(last.step.graph.ops.back().phase, Phase::kUpdate);
  const Trace trace = simulate(last.step.graph);
  EXPECT_LT(trace.size(), step.trace.size());
  EXPECT_EQ(lower_bound_bytes(trace, kAlignmentBytes),
            lower_bound_bytes(step.trace, kAlignmentBytes));
  std::vector<OpId> numbers = last.program_numbers;
  EXPECT_FALSE(std::ranges::is_sorted(numbers)) << "the order is another than the program's";
  std::ranges::sort(numbers);
  for (OpId op = 0; op < numbers.size(); ++op) EXPECT_EQ(numbers[op], op);
  EXPECT_EQ(numbers.size(), last.step.graph.ops.size());
}

}  // namespace
}  // namespace skyline
