#include "train/decide/step_seconds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <utility>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "framework/ops/attention/attention.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "framework/ops/normalization/batch_norm.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

StepOp gradient_of(const char* op, const char* layer, std::size_t inputs) {
  return {.name = op,
          .layer = layer,
          .phase = Phase::kBackward,
          .inputs = std::vector<ValueId>(inputs),
          .outputs = {0}};
}

RecordedStep step_of(std::vector<StepOp> ops) {
  RecordedStep step;
  step.graph.ops = std::move(ops);
  return step;
}

TEST(EarlySumSeconds, AreThoseOfLateSumsForEachValueThatIsReadOrWritten) {
  const RecordedStep late = step_of(
      {gradient_of("conv2d_grad_input", "a", 2), gradient_of("conv2d_grad_input", "b", 2),
       gradient_of("relu_grad", "c", 2), gradient_of("sum", "x", 3), gradient_of("sum", "y", 2)});
  const RecordedStep early =
      step_of({gradient_of("conv2d_grad_input", "a", 2), gradient_of("conv2d_grad_input", "b", 2),
               gradient_of("sum", "x", 2), gradient_of("relu_grad", "c", 2),
               gradient_of("sum", "x", 2), gradient_of("sum", "y", 2)});
  // The sum of three takes 2 seconds for each of four values.
  EXPECT_THAT(saving_seconds(early, late, {1, 2, 3, 8, 9}), testing::ElementsAre(1, 2, 6, 3, 6, 9));
}

// Fused, 8 passes over memory, or 11 with a projection; apart, 3 and 7, or 10.
TEST(EarlySumSeconds, TakeFusedSumsApart) {
  const RecordedStep late = step_of({gradient_of("conv2d_grad_input", "a", 2),
                                     gradient_of("batch_norm_grad_of_sum", "b", 7),
                                     gradient_of("batch_norm_grad_of_sum", "c", 11)});
  const RecordedStep early =
      step_of({gradient_of("conv2d_grad_input", "a", 2), gradient_of("sum", "b", 2),
               gradient_of("batch_norm_grad", "b", 6), gradient_of("sum", "c", 2),
               gradient_of("batch_norm_grad", "c", 10)});
  EXPECT_THAT(saving_seconds(early, late, {1, 16, 22}), testing::ElementsAre(1, 6, 14, 6, 20));
  EXPECT_THAT(saving_seconds(late, late, {1, 16, 22}), testing::ElementsAre(1, 16, 22));
}

TEST(EarlySumSeconds, RefuseAnotherStep) {
  const RecordedStep late = step_of({gradient_of("relu_grad", "a", 2)});
  const RecordedStep other = step_of({gradient_of("sigmoid_grad", "a", 2)});
  EXPECT_THROW(saving_seconds(other, late, {1}), std::logic_error);
}

TEST(ChainSeconds, AreThoseOfTheOpsThatItsCallsStandFor) {
  StepOp forward = gradient_of("conv2d", "conv1", 2);
  forward.phase = Phase::kForward;
  const StepOp weight = gradient_of("conv2d_grad_weight", "conv1", 2);
  const StepOp other = gradient_of("relu_grad", "fc", 2);
  StepOp chain = gradient_of("chain", "c", 2);
  chain.phase = Phase::kForward;
  StepOp gradient = gradient_of("chain_grad", "c", 2);
  OpRounds rounds{.slices = {}, .calls = {{.name = "conv2d", .layer = "conv1", .slices = {}}}};
  chain.rounds = std::make_shared<const OpRounds>(rounds);
  rounds.calls.push_back({.name = "conv2d_grad_weight", .layer = "conv1", .slices = {}});
  gradient.rounds = std::make_shared<const OpRounds>(rounds);
  RecordedStep in_rounds = step_of({chain, other, gradient});
  in_rounds.graph.values.resize(1);
  EXPECT_THAT(saving_seconds(in_rounds, step_of({forward, other, weight}), {1, 2, 4}),
              testing::ElementsAre(1, 2, 5));
  StepProfile profile({});
  profile.add({{"conv2d", "conv1", Phase::kForward, 1},
               {"relu_grad", "fc", Phase::kBackward, 2},
               {"conv2d_grad_weight", "conv1", Phase::kBackward, 4}});
  EXPECT_THAT(profile.seconds(in_rounds), testing::ElementsAre(1, 2, 5));
}

// Returns the foreseen seconds of a loss of 640 words among 4,000, its gradients included in
// training.
double seconds_of_loss(Mode mode, bool in_panels) {
  SimulatedDevice device;
  BestFitPool pool(device);
  Context context(pool, {.dry_run = Emulation(), .mode = mode});
  context.watch().record_graph = true;
  const Parameter weight = make_parameter(context, {{4000, 64}}, "W.weight", nullptr);
  const Parameter bias = make_parameter(context, {Shape{4000}}, "W.bias", nullptr);
  context.begin_step();
  Tensor x = require_gradient(context, context.upload({{640, 64}}, nullptr), "x");
  Tensor labels = context.upload({Shape{640}, DType::kInt32}, nullptr);
  Tensor loss;
  if (in_panels) {
    loss = linear_cross_entropy(context, {.x = std::move(x),
                                          .weight = weight.value,
                                          .bias = bias.value,
                                          .labels = std::move(labels)});
  } else {
    Tensor logits = linear(context, std::move(x), weight.value, bias.value);
    loss = softmax_cross_entropy(context, std::move(logits), std::move(labels));
  }
  if (mode == Mode::kTraining) backward(context, std::move(loss));
  const std::vector<double> seconds =
      foreseen_seconds(context.recorded_step(), assumed_speed("cpu"));
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

TEST(ForeseenSeconds, OfALossInPanelsAreThoseOfItsOps) {
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    const double apart = seconds_of_loss(mode, false);
    EXPECT_NEAR(seconds_of_loss(mode, true), apart, 0.03 * apart);
  }
}

// Reads x twice, then the shortcut once, or twice if it is normalized, too, and writes y.
TEST(ForeseenSeconds, OfBatchNormCountTheSumsOfANormalizedShortcut) {
  const auto recorded = [](bool projection) {
    SimulatedDevice device;
    BestFitPool pool(device);
    Context context(pool, {.dry_run = Emulation()});
    context.watch().record_graph = true;
    const auto state = [&] { return context.resident({Shape{64}}, Category::kState, ""); };
    const BatchNormValues own{state(), state(), state(), state()};
    const BatchNormValues other{state(), state(), state(), state()};
    context.begin_step();
    const TensorSpec image{{8, 64, 32, 32}};
    Tensor x = context.upload(image, nullptr), shortcut = context.upload(image, nullptr);
    batch_norm(context, std::move(x), own.gamma, own.beta, own.running_mean, own.running_variance,
               {.relu = true}, std::move(shortcut), projection ? &other : nullptr);
    return context.recorded_step();
  };
  const RecordedStep plain = recorded(false), projected = recorded(true);
  const auto seconds = [](const RecordedStep& step) {
    return foreseen_seconds(step, assumed_speed("cpu")).back();
  };
  EXPECT_NEAR(seconds(projected) / seconds(plain), 5.0 / 4, 0.01);
  const double images = 8 * 64 * 32 * 32 * sizeof(float);  // one of them more
  EXPECT_NEAR(static_cast<double>(moved_bytes(projected) - moved_bytes(plain)), images,
              0.01 * images);
}

// Returns the foreseen seconds of attention, and of its gradient, over 1,024 words.
std::vector<double> seconds_of_attention(std::int64_t sequences) {
  SimulatedDevice device;
  BestFitPool pool(device);
  Context context(pool, {.dry_run = Emulation()});
  context.watch().record_graph = true;
  context.begin_step();
  Tensor qkv = require_gradient(context, context.upload({{1024, 3 * 64}}, nullptr), "qkv");
  const Tensor y = attention(context, std::move(qkv), {.sequences = sequences, .heads = 2});
  const Parameter weight = make_parameter(context, {{8, 64}}, "W.weight", nullptr);
  Tensor logits = linear(context, y, weight.value, {});
  Tensor labels = context.upload({Shape{1024}, DType::kInt32}, nullptr);
  backward(context, softmax_cross_entropy(context, std::move(logits), std::move(labels)));
  const std::vector<double> seconds =
      foreseen_seconds(context.recorded_step(), assumed_speed("cpu"));
  std::vector<double> of_attention;
  for (std::size_t op = 0; op < seconds.size(); ++op) {
    const std::string& name = context.step_graph().ops[op].name;
    if (name == kAttention || name == kAttentionGrad) of_attention.push_back(seconds[op]);
  }
  return of_attention;
}

// The bytes are equal; a word attends to 512.5 words on average, or to 32.5.
TEST(ForeseenSeconds, OfAttentionCountProductsOfPairsOfWords) {
  const std::vector<double> one = seconds_of_attention(1), many = seconds_of_attention(16);
  ASSERT_EQ(one.size(), 2u);
  const double pairs = 1024 * (512.5 - 32.5), products = 2 * 64 * pairs;
  const double seconds = products / assumed_speed("cpu").flops;
  EXPECT_NEAR(one[0] - many[0], 2 * seconds, 1e-3 * seconds);
  EXPECT_NEAR(one[1] - many[1], 5 * seconds, 1e-3 * seconds);
}

}  // namespace
}  // namespace skyline
