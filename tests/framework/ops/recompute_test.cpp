// Tests that recomputed tensors have the bits of the forward pass.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "framework/node.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels.h"
#include "framework/ops/attention/attention.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/normalization/batch_norm.h"
#include "framework/ops/normalization/layer_norm.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "framework/ops/recurrent/lstm.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

Tensor recomputed(Context& context, const RecomputeStep& step) {
  std::vector<Tensor> inputs;
  for (const RecomputeStep::Source& source : step.sources) {
    inputs.push_back(source.step ? recomputed(context, *source.step) : source.tensor);
  }
  return context.execute(*step.op, std::move(inputs), {}, Phase::kBackward,
                         step.layer)[index(step.output)];
}

using Program = std::function<Tensor(Context&, const std::vector<Tensor>&)>;

// `program` reads x and y [N, C, H, W] and four tensors [C], all of them resident.
void expect_same_bits(const Program& program) {
  for (const Shape& shape : {Shape{2, 3, 5, 4}, Shape{3, 8, 7, 7}, Shape{8, 64, 20, 20}}) {
    RecordedContext run({.recompute = 5});
    std::vector<Tensor> operands;
    for (const char* name : {"x", "y", "gamma", "beta", "mean", "variance"}) {
      const TensorSpec spec{operands.size() < 2 ? shape : Shape{shape[1]}};
      const HostTensor noise = random_tensor(spec.shape, operands.size());
      std::vector<float> values(noise.values.begin(), noise.values.end());
      operands.push_back(make_parameter(run.context, spec, name, values.data()).value);
    }
    run.context.begin_step();
    const Tensor y = program(run.context, operands);
    ASSERT_NE(y.edge().node->recompute_step(0), nullptr);
    const std::vector<float> again =
        RecordedContext::values(recomputed(run.context, *y.edge().node->recompute_step(0)));
    const std::vector<float> values = RecordedContext::values(y);
    ASSERT_EQ(again.size(), values.size());
    EXPECT_EQ(std::memcmp(again.data(), values.data(), 4 * values.size()), 0) << shape.str();
    run.context.end_step();
  }
}

TEST(Recomputation, GivesTheBitsOfBatchNorm) {
  for (const bool relu : {false, true}) {
    expect_same_bits([relu](Context& context, const std::vector<Tensor>& t) {
      return batch_norm(context, t[0], t[2], t[3], t[4].detach(), t[5].detach(), {.relu = relu});
    });
  }
}

TEST(Recomputation, GivesTheBitsOfElementwiseOps) {
  expect_same_bits([](Context& c, const std::vector<Tensor>& t) { return relu(c, t[0]); });
  expect_same_bits([](Context& c, const std::vector<Tensor>& t) { return sigmoid(c, t[0]); });
  expect_same_bits([](Context& c, const std::vector<Tensor>& t) { return tanh(c, t[0]); });
  expect_same_bits([](Context& c, const std::vector<Tensor>& t) { return gelu(c, t[0]); });
  for (const AddScaledParams params :
       {AddScaledParams{}, AddScaledParams{.relu = true}, AddScaledParams{0.17f, true}}) {
    expect_same_bits([params](Context& context, const std::vector<Tensor>& t) {
      return add_scaled(context, t[0], t[1], params);
    });
  }
}

TEST(Recomputation, GivesTheBitsOfPoolingAndLocalResponseNorm) {
  const Pool2dParams windows{.kernel = 3, .stride = 2, .padding = 1};
  expect_same_bits([&](Context& c, const auto& t) { return max_pool2d(c, t[0], windows); });
  expect_same_bits([&](Context& c, const auto& t) { return average_pool2d(c, t[0], windows); });
  expect_same_bits([](Context& c, const auto& t) { return global_average_pool2d(c, t[0]); });
  expect_same_bits([](Context& c, const auto& t) { return local_response_norm(c, t[0]); });
}

TEST(Recomputation, GivesTheBitsOfConcat) {
  for (const bool relu : {false, true}) {
    expect_same_bits([relu](Context& context, const std::vector<Tensor>& t) {
      return concat(context, {t[0], t[1]}, {.relu = relu});
    });
  }
}

TEST(Recomputation, GivesTheBitsOfAResidualBlock) {
  expect_same_bits([](Context& context, const std::vector<Tensor>& t) {
    const auto normalized = [&](const Tensor& x) {
      return batch_norm(context, x, t[2], t[3], t[4].detach(), t[5].detach());
    };
    Tensor y = add_scaled(context, t[0], normalized(t[1]), {.relu = true});
    return add_scaled(context, std::move(y), normalized(t[0]), {.relu = true});
  });
}

// Makes the outputs of an op of a layer again, whatever that costs.
RecordedContext makes_again(const char* op, const char* layer, int outputs) {
  ByteSavings savings;
  for (int j = 0; j < outputs; ++j) {
    savings.recomputed[{.layer = layer, .op = op, .output = j}] = Recomputing::kOnce;
  }
  return RecordedContext({.savings = std::make_shared<const ByteSavings>(std::move(savings))});
}

Parameter noise(RecordedContext& run, const char* name, const Shape& shape, std::uint64_t seed) {
  const HostTensor drawn = random_tensor(shape, seed);
  const std::vector<float> values(drawn.values.begin(), drawn.values.end());
  return make_parameter(run.context, {shape}, name, values.data());
}

void expect_same_outputs(RecordedContext& run, const std::vector<Tensor>& outputs) {
  for (const Tensor& output : outputs) {
    const auto step = output.edge().node->recompute_step(output.edge().output);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->outputs, output.edge().node->output_specs.size());
    EXPECT_EQ(RecordedContext::values(recomputed(run.context, *step)),
              RecordedContext::values(output));
  }
}

TEST(Recomputation, GivesTheBitsOfLayerNorm) {
  for (const bool bias : {false, true}) {
    RecordedContext run({.recompute = 1});
    const Tensor x = noise(run, "x", {40, 500}, 1).value;
    const Tensor weight = noise(run, "weight", Shape{500}, 2).value;
    run.context.begin_step();
    const Tensor y = layer_norm(run.context, x, weight,
                                bias ? noise(run, "bias", Shape{500}, 3).value : Tensor());
    expect_same_outputs(run, {y});
    run.context.end_step();
  }
}

TEST(Recomputation, GivesTheBitsOfAttention) {
  RecordedContext run = makes_again("attention", "qkv", 2);
  const Tensor qkv = noise(run, "qkv", {2 * 70, 3 * 16}, 1).value;
  run.context.begin_step();
  expect_same_outputs(run, {attention(run.context, qkv, {.sequences = 2, .heads = 2})});
  run.context.end_step();
}

TEST(Recomputation, GivesTheBitsOfEachOutputOfAnLstm) {
  RecordedContext run = makes_again("lstm", "x", 3);
  const Tensor x = noise(run, "x", {7, 5}, 1).value;
  std::vector<LstmWeights> layers;
  for (std::uint64_t k = 0; k < 2; ++k) {
    layers.push_back({.w = noise(run, "w", {12, k == 0 ? 5 : 3}, 2 + k).value,
                      .u = noise(run, "u", {12, 3}, 4 + k).value,
                      .bias_w = noise(run, "bias_w", Shape{12}, 6 + k).value,
                      .bias_u = noise(run, "bias_u", Shape{12}, 8 + k).value});
  }
  run.context.begin_step();
  const LstmOutput out = lstm(run.context, x, {}, layers, PackedShape({4, 3}), {.dropout = 0.5f});
  expect_same_outputs(run, {out.y, out.h, out.c});
  run.context.end_step();
}

TEST(Recomputation, GivesTheBitsOfEachOutputOfAnLstmCell) {
  RecordedContext run = makes_again("lstm_cell", "gates", 3);
  const Tensor gates = noise(run, "gates", {3, 8}, 1).value, c = noise(run, "c", {3, 2}, 2).value;
  run.context.begin_step();
  const LstmCellOutput out = lstm_cell(run.context, gates, c);
  expect_same_outputs(run, {out.h, out.c});
  run.context.end_step();
}

}  // namespace
}  // namespace skyline
