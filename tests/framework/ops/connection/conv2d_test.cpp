#include "framework/ops/connection/conv2d.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/op_check.h"
#include "tests/framework/ops/connection/conv_operands.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/reference/conv2d.h"
#include "tests/framework/reference/elementwise.h"

namespace skyline {
namespace {

constexpr std::uint64_t kConv2dSeed = 20;

struct Conv2dCase {
  const char* name;
  Shape x, weight;
  Conv2dParams params;
  bool bias = true;
};

void PrintTo(const Conv2dCase& c, std::ostream* out) { *out << c.name; }
std::string conv2d_name(const testing::TestParamInfo<Conv2dCase>& info) { return info.param.name; }

ConvOperands operands_of(const Conv2dCase& c) { return {c.x, c.weight, c.bias, kConv2dSeed}; }

class Conv2dSmall : public testing::TestWithParam<Conv2dCase> {};
class Conv2dAll : public testing::TestWithParam<Conv2dCase> {};

// Tested through apply() and backward(), against finite differences of the reference.
TEST_P(Conv2dSmall, EqualsTheReferenceAndItsFiniteDifferences) {
  const Conv2dCase& c = GetParam();
  check_op(
      {.apply =
           [&c](Context& context, std::vector<Tensor> x) {
             Tensor bias = c.bias ? std::move(x[2]) : Tensor();
             return conv2d(context, std::move(x[0]), std::move(x[1]), std::move(bias), c.params);
           },
       .reference =
           [&c](const std::vector<HostTensor>& x) {
             return reference::conv2d(x[0], x[1], c.bias ? x[2] : HostTensor(Shape{0}), c.params);
           },
       .inputs = operands_of(c).list(),
       .forward_tolerance = 2e-6,
       .derivatives_per_input = 60,
       .seed = kConv2dSeed,
       .has_products = true});
}

// One pass, and the gradients of a convolution and a relu.
TEST_P(Conv2dSmall, WithReluEqualsTheTwoReferences) {
  const Conv2dCase& c = GetParam();
  Conv2dParams params = c.params;
  params.relu = true;
  check_op({.apply =
                [&](Context& context, std::vector<Tensor> x) {
                  Tensor bias = c.bias ? std::move(x[2]) : Tensor();
                  return conv2d(context, std::move(x[0]), std::move(x[1]), std::move(bias), params);
                },
            .reference =
                [&c](const std::vector<HostTensor>& x) {
                  return reference::relu(reference::conv2d(
                      x[0], x[1], c.bias ? x[2] : HostTensor(Shape{0}), c.params));
                },
            .inputs = operands_of(c).list(),
            .forward_tolerance = 2e-6,
            .derivatives_per_input = 30,
            .seed = kConv2dSeed,
            .has_products = true});
}

// Compares every element of every gradient with the reference's, from guarded kernels.
TEST_P(Conv2dAll, EveryGradientElementEqualsTheReference) {
  const Conv2dCase& c = GetParam();
  const ConvOperands operands = operands_of(c);
  const HostTensor y = reference::conv2d(operands.x, operands.weight, operands.bias, c.params);
  const HostTensor grad_output = random_tensor(y.shape, kConv2dSeed, 3);
  const auto [outputs, gradients] = KernelRun()(*conv2d_op(c.params), operands.list(), grad_output);
  const auto expected =
      reference::conv2d_gradients(operands.x, operands.weight, grad_output, c.params);
  expect_close("y", outputs[0], y, 2e-6);
  expect_close("grad_x", gradients[0], expected.x, 2e-6);
  expect_close("grad_weight", gradients[1], expected.weight, 5e-6);
  if (c.bias) expect_close("grad_bias", gradients[2], expected.bias, 5e-6);
}

TEST_P(Conv2dAll, RepeatsBitForBit) {
  const Conv2dCase& c = GetParam();
  const ConvOperands operands = operands_of(c);
  const HostTensor y = reference::conv2d(operands.x, operands.weight, operands.bias, c.params);
  const HostTensor grad_output = random_tensor(y.shape, kConv2dSeed, 3);
  KernelRun run;
  const auto first = run(*conv2d_op(c.params), operands.list(), grad_output);
  const auto second = run(*conv2d_op(c.params), operands.list(), grad_output);
  EXPECT_EQ(first.outputs[0].values, second.outputs[0].values);
  for (std::size_t i = 0; i < first.gradients.size(); ++i) {
    EXPECT_EQ(first.gradients[i].values, second.gradients[i].values) << "gradient " << i;
  }
}

const Conv2dCase kSmallConv2d[] = {
    {"plain", {2, 3, 7, 5}, {4, 3, 3, 3}, {.padding = 1}},
    {"without_bias", {2, 3, 7, 5}, {4, 3, 3, 3}, {}, false},
    {"one_pixel", {1, 1, 1, 1}, {1, 1, 1, 1}, {}},
    {"one_pixel_padded", {2, 3, 1, 1}, {2, 3, 3, 3}, {.padding = 1}},
    {"window_of_the_image", {2, 1, 4, 6}, {3, 1, 4, 6}, {}},
    {"stride_leaves_a_rest", {1, 2, 8, 9}, {3, 2, 3, 3}, {.stride = 3}},
    {"uneven_in_all", {2, 5, 9, 6}, {7, 5, 2, 3}, {.stride = {2, 1}, .padding = {0, 2}}},
    {"pointwise_stride_2", {2, 4, 5, 5}, {6, 4, 1, 1}, {.stride = 2}, false},
    {"padding_beyond_window", {1, 1, 3, 3}, {1, 1, 2, 2}, {.padding = 2}},
    {"seventeen_channels", {1, 17, 4, 4}, {19, 17, 3, 3}, {.padding = 1}},
    {"two_groups", {2, 6, 5, 7}, {4, 3, 3, 3}, {.padding = 1, .groups = 2}},
    {"uneven_groups", {1, 6, 7, 5}, {9, 2, 2, 3}, {.stride = {1, 2}, .groups = 3}, false},
    {"pointwise_groups", {2, 8, 3, 3}, {4, 2, 1, 1}, {.groups = 4}},
    {"depthwise", {2, 5, 6, 6}, {5, 1, 3, 3}, {.padding = 1, .groups = 5}},
    {"depthwise_stride_2",
     {1, 16, 7, 7},
     {16, 1, 3, 3},
     {.stride = 2, .padding = 1, .groups = 16},
     false},
    {"depthwise_two_outputs", {1, 3, 5, 5}, {6, 1, 3, 3}, {.padding = 1, .groups = 3}},
};

// Convolutions of lenet, resnet20 and mobilenet_v2, and of AlexNet's two towers.
const Conv2dCase kConv2dNetworks[] = {
    {"lenet_conv1", {2, 1, 28, 28}, {6, 1, 5, 5}, {.padding = 2}},
    {"lenet_conv2", {2, 6, 14, 14}, {16, 6, 5, 5}, {}},
    {"resnet20_conv1", {2, 3, 32, 32}, {16, 3, 3, 3}, {.padding = 1}, false},
    {"resnet20_conv2_x", {2, 16, 32, 32}, {16, 16, 3, 3}, {.padding = 1}, false},
    {"resnet20_conv3_1", {3, 16, 32, 32}, {32, 16, 3, 3}, {.stride = 2, .padding = 1}, false},
    {"resnet20_conv3_x", {2, 32, 16, 16}, {32, 32, 3, 3}, {.padding = 1}, false},
    {"resnet20_conv4_1", {1, 32, 16, 16}, {64, 32, 3, 3}, {.stride = 2, .padding = 1}, false},
    {"resnet20_conv4_x", {2, 64, 8, 8}, {64, 64, 3, 3}, {.padding = 1}, false},
    {"mobilenet_depthwise", {2, 32, 14, 14}, {32, 1, 3, 3}, {.padding = 1, .groups = 32}, false},
    {"mobilenet_depthwise_2",
     {1, 96, 15, 15},
     {96, 1, 3, 3},
     {.stride = 2, .padding = 1, .groups = 96},
     false},
    {"two_towers", {1, 32, 9, 9}, {64, 16, 5, 5}, {.padding = 2, .groups = 2}},
};

INSTANTIATE_TEST_SUITE_P(Small, Conv2dSmall, testing::ValuesIn(kSmallConv2d), conv2d_name);
INSTANTIATE_TEST_SUITE_P(Small, Conv2dAll, testing::ValuesIn(kSmallConv2d), conv2d_name);
INSTANTIATE_TEST_SUITE_P(Networks, Conv2dAll, testing::ValuesIn(kConv2dNetworks), conv2d_name);

std::string conv2d_refusal(Conv2dParams params, std::vector<TensorSpec> inputs) {
  try {
    conv2d_op(params)->outputs(inputs);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Conv2d, RefusesWhatDoesNotFit) {
  const TensorSpec x{{2, 3, 8, 8}}, weight{{4, 3, 3, 3}}, bias{{4}};
  EXPECT_EQ(conv2d_refusal({}, {x, weight, bias}), "accepted");
  EXPECT_EQ(conv2d_refusal({}, {x}), "[conv2d] number of inputs, got 1, expected 2");
  EXPECT_EQ(conv2d_refusal({}, {{{2, 3, 8}}, weight}),
            "[conv2d] x, got f32[2, 3, 8], expected f32 of rank 4");
  EXPECT_EQ(conv2d_refusal({}, {{{2, 3, 8, 8}, DType::kUint8}, weight}),
            "[conv2d] x, got u8[2, 3, 8, 8], expected f32 of rank 4");
  EXPECT_EQ(conv2d_refusal({}, {x, {{4, 3}}}),
            "[conv2d] weight, got f32[4, 3], expected f32 of rank 4");
  EXPECT_EQ(conv2d_refusal({}, {{{0, 3, 8, 8}}, weight}),
            "[conv2d] x, got f32[0, 3, 8, 8], expected no empty extent");
  EXPECT_EQ(conv2d_refusal({}, {x, {{4, 16, 3, 3}}}),
            "[conv2d] input channels, got 3, expected 16");
  EXPECT_EQ(conv2d_refusal({}, {x, weight, {{5}}}), "[conv2d] bias, got f32[5], expected f32[4]");
  EXPECT_EQ(conv2d_refusal({.padding = 1}, {x, {{4, 3, 11, 3}}}),
            "[conv2d] window height, got 11, expected at most the padded image's 10");
  EXPECT_EQ(conv2d_refusal({}, {x, {{4, 3, 3, 9}}}),
            "[conv2d] window width, got 9, expected at most the padded image's 8");
  EXPECT_EQ(conv2d_refusal({.stride = {1, 0}}, {x, weight}),
            "[conv2d] stride, got 1x0, expected at least 1");
  EXPECT_EQ(conv2d_refusal({.padding = -1}, {x, weight}),
            "[conv2d] padding, got -1x-1, expected at least 0");
  EXPECT_EQ(conv2d_refusal({.groups = 0}, {x, weight}),
            "[conv2d] groups, got 0, expected at least 1");
  EXPECT_EQ(conv2d_refusal({.groups = 3}, {x, weight}),
            "[conv2d] input channels, got 3, expected 9");
  EXPECT_EQ(conv2d_refusal({.groups = 2}, {x, {{4, 1, 3, 3}}}),
            "[conv2d] input channels, got 3, expected 2");
  EXPECT_EQ(conv2d_refusal({.groups = 3}, {x, {{4, 1, 3, 3}}}),
            "[conv2d] output channels, got 4, expected a multiple of 3 groups");
}

// Parameters are part of names that runs keep (engines.json), so most name no groups.
TEST(Conv2d, NamesGroupsOnlyWhereThereAreSome) {
  EXPECT_EQ(conv2d_op({.padding = 1})->parameters(), "stride=1x1 padding=1x1");
  EXPECT_EQ(conv2d_op({.groups = 4, .relu = true})->parameters(),
            "stride=1x1 padding=0x0 groups=4 relu");
}

TEST(Conv2d, RetainsOnlyWhatTheNeededGradientsRead) {
  const std::vector<TensorSpec> specs = {{{2, 3, 8, 8}}, {{4, 3, 3, 3}}, {{4}}};
  const auto calls = [&](bool x, bool weight, bool bias) {
    std::string text;
    for (const GradientCall& call : conv2d_op()->gradient(specs, {x, weight, bias})) {
      text += std::string(call.op->name()) + " reads input " +
              std::to_string(call.sources[0].index) + ";";
    }
    return text;
  };
  EXPECT_EQ(calls(true, false, false), "conv2d_grad_input reads input 1;");
  EXPECT_EQ(calls(false, true, true), "conv2d_grad_weight reads input 0;");
  EXPECT_EQ(calls(false, false, true), "conv2d_grad_weight reads input 0;");
  EXPECT_EQ(calls(true, true, true),
            "conv2d_grad_weight reads input 0;conv2d_grad_input reads input 1;");
}

}  // namespace
}  // namespace skyline
