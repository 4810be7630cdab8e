// Tests a small transformer of ops, as GPT-2 composes them: its bytes and its bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "framework/ops/activation/activations.h"
#include "framework/ops/attention/attention.h"
#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/normalization/layer_norm.h"
#include "memory/trace.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

constexpr std::int64_t kSentences = 2, kLength = 9, kChannels = 16, kWords = 50;

// Two blocks, each of attention and of a layer four times as wide; the head's weight is the table.
struct Transformer {
  explicit Transformer(Context::Options options = {}) : run(std::move(options)) {
    loss();  // makes the parameters
    next = 0;
    run.context.begin_step();
    backward(run.context, loss());
    run.context.end_step();
    for (const auto& parameter : parameters) {
      gradients.push_back(RecordedContext::values(parameter.gradient));
    }
    bytes = lower_bound_bytes(run.recorder.last_step(), 1);
    for (const StepOp& op : run.context.step_graph().ops) {
      if (op.phase != Phase::kForward) backward_ops.insert(op.name);
    }
  }

  Tensor parameter(const char* name, const Shape& shape, double magnitude) {
    if (next == parameters.size()) {
      const std::vector<float> host =
          stored_values(random_tensor(shape, 97, next, {-magnitude, magnitude}));
      parameters.push_back(make_parameter(run.context, {shape}, name, host.data()));
    }
    return parameters[next++].value;
  }
  template <typename Number>
  Tensor numbers(const Number& number) {
    std::vector<std::int32_t> host;
    for (std::int32_t k = 0; k < kSentences * kLength; ++k) host.push_back(number(k));
    return run.context.upload({{std::ssize(host)}, DType::kInt32}, host.data());
  }
  Tensor project(Tensor x, const char* name, std::int64_t from, std::int64_t to) {
    return linear(run.context, std::move(x), parameter(name, {to, from}, 0.3), {});
  }
  Tensor normalize(Tensor x, const char* name) {
    return layer_norm(run.context, std::move(x), parameter(name, Shape{kChannels}, 1), {});
  }
  Tensor loss() {
    Context& context = run.context;
    const Tensor table = parameter("wte", {kWords, kChannels}, 0.5);
    const auto word = [](std::int32_t k) { return static_cast<std::int32_t>(k * k % kWords); };
    const auto place = [](std::int32_t k) { return static_cast<std::int32_t>(k % kLength); };
    const Tensor places = parameter("wpe", {kLength, kChannels}, 0.5);
    Tensor x = add(context, embedding(context, numbers(word), table),
                   embedding(context, numbers(place), places));
    for (const char* block : {"h.0", "h.1"}) {
      const LayerScope scope(context, block);
      Tensor y = project(normalize(x, "ln_1"), "c_attn", kChannels, 3 * kChannels);
      y = attention(context, std::move(y), {.sequences = kSentences, .heads = 4});
      x = add(context, std::move(x), project(std::move(y), "attn.c_proj", kChannels, kChannels));
      y = gelu(context, project(normalize(x, "ln_2"), "c_fc", kChannels, 4 * kChannels));
      x = add(context, std::move(x), project(std::move(y), "c_proj", 4 * kChannels, kChannels));
    }
    return linear_cross_entropy(
        context, {.x = normalize(std::move(x), "ln_f"), .weight = table, .labels = numbers(word)});
  }

  RecordedContext run;
  std::vector<Parameter> parameters;  // in the program's sequence
  std::size_t next = 0;
  std::vector<std::vector<float>> gradients;
  std::uint64_t bytes = 0;  // the most alive at once
  std::set<std::string, std::less<>> backward_ops;
};

TEST(Transformer, RequestsWhatItsStepGraphSays) {
  const Transformer usual;
  EXPECT_TRUE(
      usual.run.recorder.last_step().same_requests(simulate(usual.run.context.step_graph())));
  EXPECT_TRUE(usual.backward_ops.contains("embedding_grad_onto"));
}

TEST(Transformer, HasTheSameBitsInAnyOrderInPlaceOrNot) {
  const Transformer usual;
  for (const char* order : {"early", "optimal"}) {
    const Transformer other({.orders = std::make_shared<StepOrders>(order)});
    EXPECT_EQ(other.gradients, usual.gradients) << order;
    EXPECT_LE(other.bytes, usual.bytes) << order;
  }
  const Transformer apart({.in_place = false});
  EXPECT_EQ(apart.gradients, usual.gradients);
  EXPECT_GT(apart.bytes, usual.bytes);
  ByteSavings early;
  early.early_sums = true;
  EXPECT_EQ(Transformer({.savings = std::make_shared<const ByteSavings>(early)}).gradients,
            usual.gradients);
}

TEST(Transformer, RecomputesGeluAndNormalizationFromFewerBytes) {
  const Transformer kept, again({.recompute = 2});
  EXPECT_EQ(again.gradients, kept.gradients);
  EXPECT_LT(again.bytes, kept.bytes);
  EXPECT_TRUE(again.backward_ops.contains("gelu") && again.backward_ops.contains("layer_norm"));
  EXPECT_FALSE(again.backward_ops.contains("attention") || kept.backward_ops.contains("gelu"));
}

// A budget may compute even attention again.
TEST(Transformer, HasTheSameBitsWhereAttentionIsRecomputed) {
  const Transformer kept;
  ByteSavings savings;
  savings.recomputed[{.layer = "h.1", .op = "attention"}] = Recomputing::kOnce;
  const Transformer again({.savings = std::make_shared<const ByteSavings>(std::move(savings))});
  EXPECT_TRUE(again.backward_ops.contains("attention"));
  EXPECT_EQ(again.gradients, kept.gradients);
}

}  // namespace
}  // namespace skyline
