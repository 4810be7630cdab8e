#include "framework/lanes/wide_op.h"

#include <gtest/gtest.h>

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>

#include "framework/backward/backward_graph.h"
#include "framework/lanes/lane_runner.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/attention/attention.h"
#include "framework/ops/connection/conv2d.h"
#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/normalization/layer_norm.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/ops/recurrent/lstm_case.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

TEST(WideOp, ALoopWithinALoopIsNotShared) {
  LaneQueue queue(2);
  const WideOp wide(queue);
  WideOp::share(2, 1, [](std::int64_t, std::int64_t) { EXPECT_FALSE(WideOp::running()); });
  EXPECT_TRUE(WideOp::running());
}

TEST(WideOp, EndsWithItsScope) {
  LaneQueue queue(2);
  { const WideOp wide(queue); }
  EXPECT_FALSE(WideOp::running());
}

// A small program, which must give the same bits on any number of lanes.
struct WideCase {
  const char* name;
  std::vector<Shape> inputs;
  std::function<Tensor(Context&, std::vector<Tensor>)> apply;
  bool products_alone = false;  // matrix products and nothing else
};
void PrintTo(const WideCase& c, std::ostream* out) { *out << c.name; }

class WideOps : public testing::TestWithParam<WideCase> {};

Tensor lstm_of(Context& context, std::vector<Tensor> x) {
  const LstmCase lstm{.lengths = {9, 9, 6, 5, 5, 2, 1},
                      .in = 64,
                      .units = 96,
                      .layers = 2,
                      .state = false,
                      .dropout = 0.2f};
  return lstm.apply(context, std::move(x)).y;
}

Tensor loss_of(Context& context, std::vector<Tensor> x) {
  const std::vector<std::int32_t> words(static_cast<std::size_t>(x[0].shape()[0]), 7);
  Tensor labels = context.upload({Shape{x[0].shape()[0]}, DType::kInt32}, words.data());
  return linear_cross_entropy(
      context, {.x = x[0], .weight = x[1], .bias = x[2], .labels = std::move(labels)});
}

Tensor rows_of(Context& context, std::vector<Tensor> x) {
  std::vector<std::int32_t> words;
  for (std::int32_t k = 0; k < 5 * 71; ++k) words.push_back(k * k % 9);
  Tensor ids = context.upload({Shape{5 * 71}, DType::kInt32}, words.data());
  return embedding(context, std::move(ids), x[0]);
}

std::vector<Shape> lstm_inputs() {
  std::vector<Shape> shapes = {{37, 64}};
  for (const std::int64_t in : {64, 96}) {
    shapes.insert(shapes.end(), {{384, in}, {384, 96}, Shape{384}, Shape{384}});
  }
  return shapes;
}

// Large enough that lanes share loops, with extents that no number of lanes divides.
std::vector<WideCase> wide_cases() {
  using Tensors = std::vector<Tensor>;
  return {
      {"relu", {{7, 11, 19, 23}}, [](Context& c, Tensors x) { return relu(c, x[0]); }},
      {"sigmoid", {{7, 5003}}, [](Context& c, Tensors x) { return sigmoid(c, x[0]); }},
      {"gelu", {{7, 5003}}, [](Context& c, Tensors x) { return gelu(c, x[0]); }},
      {"layer_norm",
       {{301, 131}, Shape{131}, Shape{131}},
       [](Context& c, Tensors x) { return layer_norm(c, x[0], x[1], x[2]); }},
      {"attention",
       {{3 * 70, 3 * 5 * 24}},
       [](Context& c, Tensors x) { return attention(c, x[0], {.sequences = 3, .heads = 5}); }},
      {"embedding", {{9, 131}}, rows_of},
      {"dropout", {{7, 5003}}, [](Context& c, Tensors x) { return dropout(c, x[0], 0.3f); }},
      {"add", {{7, 5003}, {7, 5003}}, [](Context& c, Tensors x) { return add(c, x[0], x[1]); }},
      {"linear",
       {{130, 70}, {530, 70}, Shape{530}},
       [](Context& c, Tensors x) { return linear(c, x[0], x[1], x[2]); },
       true},
      {"linear_of_few_rows",
       {{3, 512}, {1024, 512}, Shape{1024}},
       [](Context& c, Tensors x) { return linear(c, x[0], x[1], x[2]); },
       true},
      {"convolution",
       {{7, 32, 17, 19}, {48, 32, 3, 3}, Shape{48}},
       [](Context& c, Tensors x) { return conv2d(c, x[0], x[1], x[2], {.stride = 2}); }},
      {"convolution_in_rounds",
       {{7, 48, 37, 39}, {48, 48, 3, 3}, Shape{48}},
       [](Context& c, Tensors x) { return conv2d(c, x[0], x[1], x[2], {.padding = 1}); }},
      {"pointwise",
       {{5, 256, 9, 9}, {320, 256, 1, 1}},
       [](Context& c, Tensors x) { return conv2d(c, x[0], x[1], {}); }},
      {"pointwise_of_small_images",
       {{5, 256, 7, 7}, {320, 256, 1, 1}},
       [](Context& c, Tensors x) { return conv2d(c, x[0], x[1], {}); },
       true},
      {"max_pool",
       {{7, 16, 31, 29}},
       [](Context& c, Tensors x) { return max_pool2d(c, x[0], {.kernel = 3, .stride = 2}); }},
      {"average_pool",
       {{7, 16, 31, 29}},
       [](Context& c, Tensors x) { return average_pool2d(c, x[0], {.kernel = 5, .stride = 3}); }},
      {"local_response_norm",
       {{7, 16, 31, 29}},
       [](Context& c, Tensors x) { return local_response_norm(c, x[0], {}); }},
      {"lstm", lstm_inputs(), lstm_of},
      {"linear_cross_entropy", {{300, 40}, {530, 40}, Shape{530}}, loss_of},
  };
}

// Without AVX-512 oneDNN's products compute a row with other bits beside others, so lanes do not
// share them.
bool lanes_share_products() {
  const auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & avx512) == avx512;
}

// The result and the gradients of all inputs.
std::vector<std::vector<float>> bits_on(std::size_t lanes, const WideCase& c) {
  const auto compute = std::make_shared<CpuCompute>(CpuOptions{.lanes = lanes});
  CpuDevice device;
  BestFitPool pool(device);
  Context context(pool, {.compute = compute, .seed = 7});
  const auto read = [&](const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape().elements()));
    compute->read(values.data(), tensor.address(), tensor.spec().bytes());
    return values;
  };
  std::vector<Parameter> parameters;
  std::vector<Tensor> inputs;
  for (const Shape& shape : c.inputs) {
    const HostTensor random = random_tensor(shape, 33, inputs.size(), {-0.3, 0.3});
    parameters.push_back(make_parameter(context, {shape}, "x", stored_values(random).data()));
    inputs.push_back(parameters.back().value);
  }
  std::optional<WideOp> wide;
  if (lanes > 1) wide.emplace(lane_runner(*compute)->queue());
  const Tensor result = c.apply(context, std::move(inputs));
  std::vector<std::vector<float>> bits = {read(result)};
  backward(context, total(context, result));
  for (const Parameter& parameter : parameters) bits.push_back(read(parameter.gradient));
  if (lanes > 1 && (!c.products_alone || lanes_share_products())) {
    EXPECT_GT(lane_runner(*compute)->queue().shares(), 0);
  }
  return bits;
}

TEST_P(WideOps, GiveTheBitsOfOneLane) {
  const auto expected = bits_on(1, GetParam());
  for (const std::size_t lanes : {2, 3, 4}) {
    EXPECT_EQ(bits_on(lanes, GetParam()), expected) << lanes << " lanes";
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, WideOps, testing::ValuesIn(wide_cases()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace skyline
