#include "framework/ops/math/arithmetic.h"

#include <gtest/gtest.h>

#include "framework/backward/backward_graph.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic_kernels.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

constexpr std::uint64_t kAddScaledSeed = 81;

struct AddScaledCase {
  const char* name;
  Shape shape;
  AddScaledParams params;
};

void PrintTo(const AddScaledCase& c, std::ostream* out) { *out << c.name; }
std::string add_scaled_name(const testing::TestParamInfo<AddScaledCase>& info) {
  return info.param.name;
}

class AddScaled : public testing::TestWithParam<AddScaledCase> {};

TEST_P(AddScaled, EqualsTheReferenceAndItsFiniteDifferences) {
  const AddScaledCase& c = GetParam();
  check_op({.apply =
                [&c](Context& context, std::vector<Tensor> x) {
                  return add_scaled(context, std::move(x[0]), std::move(x[1]), c.params);
                },
            .reference =
                [&c](const std::vector<HostTensor>& x) {
                  return reference::add_scaled(x[0], x[1], c.params);
                },
            .inputs = {random_tensor(c.shape, kAddScaledSeed, 0),
                       random_tensor(c.shape, kAddScaledSeed, 1)},
            .derivatives_per_input = 10,
            .seed = kAddScaledSeed});
}

const AddScaledCase kAddScaledCases[] = {
    {"plain", {2, 3, 4, 5}, {}},
    {"relu", {2, 3, 4, 5}, {.relu = true}},
    {"scaled", {2, 3, 4, 5}, {.scale = 0.17f}},
    {"negative", {2, 3, 4, 5}, {.scale = -8}},
    {"scaled_relu", {2, 3, 4, 5}, {.scale = -8, .relu = true}},
    {"nothing_of_the_residual", {7}, {.scale = 0}},
    {"losses", {1}, {.scale = 0.3f}},
    {"relu_threads", {17, 1001}, {.relu = true}},
    {"scaled_threads", {17, 1001}, {.scale = -8}},
    {"scaled_relu_threads", {17, 1001}, {.scale = -8, .relu = true}},
};
INSTANTIATE_TEST_SUITE_P(Parameters, AddScaled, testing::ValuesIn(kAddScaledCases),
                         add_scaled_name);

TEST(AddScaledTwice, TakesOneTensorTwice) {
  check_op({.apply =
                [](Context& context, std::vector<Tensor> x) {
                  return add_scaled(context, x[0], x[0], {.scale = 3, .relu = true});
                },
            .reference =
                [](const std::vector<HostTensor>& x) {
                  return reference::add_scaled(x[0], x[0], {.scale = 3, .relu = true});
                },
            .inputs = {random_tensor({3, 5}, kAddScaledSeed, 0, {.away_from_zero = 0.01})},
            .seed = kAddScaledSeed});
}

// resnet20 relies on this: the same bits as an addition followed by a relu.
TEST(AddScaledBits, ReluOfASumIsTheSameInOnePass) {
  RecordedContext recorded;
  const Tensor a = recorded.upload_vector({1.25f, -3, 0.1f, 1e-30f});
  const Tensor b = recorded.upload_vector({1e-8f, 2.5f, 0.2f, -1e-31f});
  const Tensor one = add_scaled(recorded.context, a, b, {.relu = true});
  const Tensor two = relu(recorded.context, add(recorded.context, a, b));
  EXPECT_EQ(RecordedContext::values(one), RecordedContext::values(two));
}

TEST(AddScaledBits, ANotANumberStaysOneUnderRelu) {
  RecordedContext recorded;
  Tensor a = recorded.upload_vector({std::numeric_limits<float>::quiet_NaN()});
  Tensor b = recorded.upload_vector({1});
  const Tensor y = add_scaled(recorded.context, std::move(a), std::move(b), {.relu = true});
  EXPECT_TRUE(std::isnan(RecordedContext::values(y)[0]));
}

TEST(AddScaledMemory, WritesOverTheFirstOperandThatNobodyHolds) {
  RecordedContext recorded;
  const Tensor x = recorded.upload_vector({1, 2});
  Tensor residual = recorded.upload_vector({10, 20});
  const std::byte* address = residual.address();
  const Tensor y = add_scaled(recorded.context, x, std::move(residual), {.scale = 2});
  EXPECT_EQ(y.address(), address);
  EXPECT_EQ(RecordedContext::values(y), (std::vector<float>{21, 42}));
  EXPECT_EQ(RecordedContext::values(x), (std::vector<float>{1, 2}));
}

// Writes grad_x over grad_output and grad_residual over y, and the other way round.
TEST(AddScaledMemory, BothGradientsMayBeWrittenOverBothInputs) {
  const std::vector<float> grad_output = {1, 2, 3, 4}, y = {5, 0, -1, 6};
  for (const std::size_t first : {0u, 1u}) {
    std::vector<float> buffers[] = {grad_output, y};
    const std::byte* inputs[] = {reinterpret_cast<std::byte*>(buffers[0].data()),
                                 reinterpret_cast<std::byte*>(buffers[1].data())};
    std::byte* outputs[] = {reinterpret_cast<std::byte*>(buffers[first].data()),
                            reinterpret_cast<std::byte*>(buffers[1 - first].data())};
    const AddScaledParams params{.scale = 0.5f, .relu = true};
    make_add_scaled_grad_cpu({.elements = 4, .params = params, .x = true, .residual = true})
        ->run({inputs, outputs});
    EXPECT_EQ(buffers[first], (std::vector<float>{1, 0, 0, 4}));
    EXPECT_EQ(buffers[1 - first], (std::vector<float>{0.5f, 0, 0, 2}));
  }
}

// The backward graph of total(add_scaled(a, b)), and the bytes between forward and backward besides
// the loss.
struct Backward {
  std::vector<std::string> ops;
  std::size_t retained_bytes = 0;
};

Backward backward_of(AddScaledParams params) {
  RecordedContext recorded;
  const Parameter a = recorded.vector_parameter("a", 256, 1),
                  b = recorded.vector_parameter("b", 256, 2);
  const std::size_t resident = recorded.pool.statistics().requested_bytes;
  recorded.context.begin_step();
  Tensor loss = total(recorded.context, add_scaled(recorded.context, a.value, b.value, params));
  Backward result;
  result.retained_bytes =
      recorded.pool.statistics().requested_bytes - resident - loss.spec().bytes();
  BackwardGraph graph(recorded.context, std::move(loss));
  for (const BackwardStep& step : graph.steps()) result.ops.emplace_back(step.op->name());
  return result;
}

using Names = std::vector<std::string>;

TEST(AddScaledMemory, RetainsTheResultOnlyUnderRelu) {
  EXPECT_EQ(backward_of({}).retained_bytes, 0u);
  EXPECT_EQ(backward_of({.scale = 2}).retained_bytes, 0u);
  EXPECT_EQ(backward_of({.relu = true}).retained_bytes, 256 * sizeof(float));
  EXPECT_EQ(backward_of({.scale = 2, .relu = true}).retained_bytes, 256 * sizeof(float));
}

TEST(AddScaledBackward, IsOnePass) {
  EXPECT_EQ(backward_of({.relu = true}).ops,
            (Names{"gradient_seed", "spread", "relu_grad", "reshape", "sum", "reshape", "sum"}));
  EXPECT_EQ(backward_of({.scale = 2}).ops,
            (Names{"gradient_seed", "spread", "reshape", "sum", "add_scaled_grad"}));
  EXPECT_EQ(backward_of({.scale = 2, .relu = true}).ops,
            (Names{"gradient_seed", "spread", "add_scaled_grad"}));
}

TEST(AddScaledErrors, RefusesAnotherShape) {
  RecordedContext recorded;
  Tensor a = recorded.upload_vector({1, 2}), b = recorded.upload_vector({1, 2, 3});
  try {
    add_scaled(recorded.context, std::move(a), std::move(b), {.scale = 2});
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[add_scaled] operand 1, got f32[3], expected f32[2]");
  }
}

}  // namespace
}  // namespace skyline
