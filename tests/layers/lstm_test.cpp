#include "layers/lstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "framework/ops/array/rows.h"
#include "framework/ops/support/declared_op.h"
#include "layers/linear.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/op_check_ops.h"

namespace skyline {
namespace {

std::vector<float> values_of(const Tensor& tensor) {
  const auto* first = reinterpret_cast<const float*>(tensor.address());
  return {first, first + tensor.shape().elements()};
}

// Returns the tensors that are present, in the order y, h, c.
std::vector<Tensor> present(LstmOutput output) {
  std::vector<Tensor> tensors;
  for (Tensor* tensor : {&output.y, &output.h, &output.c}) {
    if (*tensor) tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

struct Run {
  std::vector<std::vector<float>> outputs;    // y, h, c, those that were wanted
  std::vector<std::vector<float>> gradients;  // of x, h, c and every parameter
  bool simulated = false;                     // the step graph gives the recorded requests
};

// One training step of a layer over random sentences.
Run run(const Lstm::Options& options, const std::vector<std::int32_t>& lengths, bool state,
        LstmWanted wanted = LstmWanted::kAll) {
  CpuDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recorder(pool);
  Context context(recorder, {.seed = 381});
  context.watch().record_graph = true;
  const PackedShape shape = PackedShape::of_lengths(lengths);
  const Lstm layer(context, "lstm", options);
  std::vector<Parameter> parameters;
  const Shape state_shape{options.layers * shape.sentences(), options.units};
  const Shape x_shape{shape.rows(), options.in};
  std::uint64_t stream = 0;
  for (const Shape& extents : {x_shape, state_shape, state_shape}) {
    const HostTensor host = random_tensor(extents, 381, stream++);
    const std::vector<float> floats(host.values.begin(), host.values.end());
    parameters.push_back(make_parameter(context, {extents}, "input", floats.data()));
  }
  context.begin_step();
  std::optional<LstmState> start;
  if (state) start = {.h = parameters[1].value, .c = parameters[2].value};
  std::vector<Tensor> outputs =
      present(layer(context, parameters[0].value, std::move(start), shape, wanted));
  Run result;
  for (const Tensor& tensor : outputs) result.outputs.push_back(values_of(tensor));
  backward(context, weighted_total(context, concat_rows(context, std::move(outputs)), 381));
  context.end_step();
  result.simulated = simulate(context.step_graph()).same_requests(recorder.last_step());
  parameters.resize(state ? 3 : 1);
  for (const Parameter& parameter : layer.parameters()) parameters.push_back(parameter);
  for (const Parameter& parameter : parameters) {
    result.gradients.push_back(values_of(parameter.gradient));
  }
  return result;
}

void expect_close(const std::vector<std::vector<float>>& a,
                  const std::vector<std::vector<float>>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].size(), b[k].size());
    double largest = 0;
    for (const float value : b[k]) largest = std::max(largest, std::fabs(double{value}));
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      ASSERT_NEAR(a[k][i], b[k][i], tolerance * largest) << "tensor " << k << ", element " << i;
    }
  }
}

// Equal to rounding: the products are summed in another order.
void expect_unrolled_equals_packed(Lstm::Options options, const std::vector<std::int32_t>& lengths,
                                   bool state) {
  options.unroll = false;
  const Run packed = run(options, lengths, state);
  options.unroll = true;
  const Run unrolled = run(options, lengths, state);
  expect_close(unrolled.outputs, packed.outputs, 2e-6);
  expect_close(unrolled.gradients, packed.gradients, 1e-5);
  EXPECT_TRUE(packed.simulated);
  EXPECT_TRUE(unrolled.simulated);
}

TEST(LstmLayer, UnrolledEqualsPackedOnLengthsOneToFifty) {
  std::vector<std::int32_t> lengths(50);
  std::iota(lengths.rbegin(), lengths.rend(), 1);
  expect_unrolled_equals_packed({.in = 6, .units = 8, .layers = 2}, lengths, true);
}

TEST(LstmLayer, UnrolledEqualsPackedWithDropoutAndWithoutAState) {
  expect_unrolled_equals_packed({.in = 5, .units = 7, .layers = 3, .dropout = 0.3f},
                                {9, 9, 4, 2, 2}, false);
}

TEST(LstmLayer, UnrolledEqualsPackedWhereAllLengthsAreEqual) {
  expect_unrolled_equals_packed({.in = 4, .units = 4, .layers = 1}, {3, 3}, true);
}

TEST(LstmLayer, MakesOnlyWhatIsWantedAndTheSameNumbers) {
  using Values = std::vector<std::vector<float>>;
  const std::vector<std::int32_t> lengths = {7, 7, 5, 2, 1};
  for (const bool unroll : {false, true}) {
    const Lstm::Options options{
        .in = 5, .units = 6, .layers = 2, .dropout = 0.2f, .unroll = unroll};
    const auto all = run(options, lengths, true);
    const auto outputs = run(options, lengths, true, LstmWanted::kOutputs);
    const auto state = run(options, lengths, true, LstmWanted::kLastState);
    ASSERT_EQ(all.outputs.size(), 3u);
    EXPECT_EQ(outputs.outputs, (Values{all.outputs[0]})) << "unroll " << unroll;
    EXPECT_EQ(state.outputs, (Values{all.outputs[1], all.outputs[2]})) << "unroll " << unroll;
    for (const auto* one : {&all, &outputs, &state}) {
      EXPECT_TRUE(one->simulated) << "unroll " << unroll;
    }
  }
}

TEST(LstmLayer, UnrolledEqualsPackedWhereOnlyPartsAreWanted) {
  const std::vector<std::int32_t> lengths = {6, 4, 4, 1};
  for (const LstmWanted wanted : {LstmWanted::kOutputs, LstmWanted::kLastState}) {
    const auto packed = run({.in = 4, .units = 5, .layers = 2}, lengths, false, wanted);
    const auto unrolled =
        run({.in = 4, .units = 5, .layers = 2, .unroll = true}, lengths, false, wanted);
    expect_close(unrolled.outputs, packed.outputs, 2e-6);
    expect_close(unrolled.gradients, packed.gradients, 1e-5);
  }
}

TEST(LstmLayer, UnrolledRequestsGrowWithTheLongestSentence) {
  const auto requests = [](bool unroll, std::int32_t length) {
    CpuDevice device;
    BestFitPool pool(device);
    Context context(pool, {.mode = Mode::kInference, .seed = 382});
    const Lstm layer(context, "lstm", {.in = 2, .units = 2, .unroll = unroll});
    const std::vector<std::int32_t> lengths = {length, 1};
    const PackedShape shape = PackedShape::of_lengths(lengths);
    const std::vector<float> x(static_cast<std::size_t>(2 * shape.rows()));
    const std::uint64_t before = pool.statistics().requests;
    layer(context, context.upload({{shape.rows(), 2}}, x.data()), {}, shape);
    return pool.statistics().requests - before;
  };
  EXPECT_EQ(requests(false, 5), requests(false, 9));
  // A step of the sentence requests two products and two states; workspaces may come on top.
  EXPECT_GE(requests(true, 9), requests(true, 5) + 4 * 4);
}

TEST(LstmLayer, NamesItsParametersLayerByLayer) {
  CpuDevice device;
  BestFitPool pool(device);
  Context context(pool, {.seed = 383});
  const LayerScope scope(context, "encoder");
  const Lstm layer(context, "lstm", {.in = 3, .units = 2, .layers = 2});
  std::vector<std::string> names;
  std::int64_t numbers = 0;
  for (const Parameter& parameter : layer.parameters()) {
    names.push_back(parameter.name);
    numbers += parameter.value.shape().elements();
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"encoder.lstm.w0", "encoder.lstm.u0", "encoder.lstm.bias_w0",
                                      "encoder.lstm.bias_u0", "encoder.lstm.w1", "encoder.lstm.u1",
                                      "encoder.lstm.bias_w1", "encoder.lstm.bias_u1"}));
  EXPECT_EQ(numbers, 8 * 3 + 8 * 2 + 16 + 2 * 8 * 2 + 16);
}

TEST(EmbeddingLayer, LooksWordsUp) {
  CpuDevice device;
  BestFitPool pool(device);
  Context context(pool, {.seed = 384});
  const Embedding layer(context, "embed_x", {.words = 5, .features = 3});
  ASSERT_EQ(layer.parameters().size(), 1u);
  EXPECT_EQ(layer.parameters()[0].name, "embed_x.weight");
  const std::vector<float> table = values_of(layer.parameters()[0].value);
  const std::vector<std::int32_t> ids = {4, 0};
  const Tensor y = layer(context, context.upload({Shape{2}, DType::kInt32}, ids.data()));
  EXPECT_EQ(values_of(y),
            (std::vector<float>{table[12], table[13], table[14], table[0], table[1], table[2]}));
}

}  // namespace
}  // namespace skyline
