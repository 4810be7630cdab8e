#include "framework/ops/pooling/pool2d.h"

#include <gtest/gtest.h>

#include "framework/ops/activation/activations.h"
#include "tests/framework/op_check.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/reference/pool2d.h"

namespace skyline {
namespace {

constexpr std::uint64_t kPoolSeed = 22;

struct PoolCase {
  const char* name;
  Shape x;
  Pool2dParams params;  // strides given
};

void PrintTo(const PoolCase& c, std::ostream* out) { *out << c.name; }
std::string pool_name(const testing::TestParamInfo<PoolCase>& info) { return info.param.name; }

class Pool2d : public testing::TestWithParam<PoolCase> {};

TEST_P(Pool2d, MaxEqualsTheReferenceAndItsFiniteDifferences) {
  const PoolCase& c = GetParam();
  check_op({.apply =
                [&c](Context& context, std::vector<Tensor> x) {
                  return max_pool2d(context, std::move(x[0]), c.params);
                },
            .reference =
                [&c](const std::vector<HostTensor>& x) {
                  return reference::max_pool2d(x[0], c.params).y;
                },
            .inputs = {random_tensor(c.x, kPoolSeed)},
            .forward_tolerance = 0,  // it only selects
            .derivatives_per_input = 40,
            .step = 2e-8,  // below the distance of two random numbers: no other winner
            .seed = kPoolSeed});
}

TEST_P(Pool2d, AverageEqualsTheReferenceAndItsFiniteDifferences) {
  const PoolCase& c = GetParam();
  check_op({.apply =
                [&c](Context& context, std::vector<Tensor> x) {
                  return average_pool2d(context, std::move(x[0]), c.params);
                },
            .reference =
                [&c](const std::vector<HostTensor>& x) {
                  return reference::average_pool2d(x[0], c.params);
                },
            .inputs = {random_tensor(c.x, kPoolSeed)},
            .derivatives_per_input = 40,
            .seed = kPoolSeed});
}

TEST_P(Pool2d, EveryGradientElementAndEveryWinnerEqualTheReference) {
  const PoolCase& c = GetParam();
  const HostTensor x = random_tensor(c.x, kPoolSeed);
  const auto expected = reference::max_pool2d(x, c.params);
  const HostTensor grad_output = random_tensor(expected.y.shape, kPoolSeed, 1);
  const auto max = KernelRun()(*max_pool2d_op(c.params), {x}, grad_output);
  EXPECT_EQ(max.outputs[0].values, expected.y.values);
  EXPECT_EQ(max.outputs[1].values, expected.argmax.values);
  expect_close("max grad_x", max.gradients[0], reference::max_pool2d_grad(x, grad_output, c.params),
               1e-6);
  const auto average = KernelRun()(*average_pool2d_op(c.params), {x}, grad_output);
  expect_close("average grad_x", average.gradients[0],
               reference::average_pool2d_grad(x.shape, grad_output, c.params), 1e-6);
}

const PoolCase kPoolCases[] = {
    {"lenet_pool1", {2, 6, 28, 28}, {.kernel = 2, .stride = 2}},
    {"lenet_pool2", {2, 16, 10, 10}, {.kernel = 2, .stride = 2}},
    {"resnet20_global", {2, 64, 8, 8}, {.kernel = 8, .stride = 8}},
    {"alexnet_overlapping", {1, 5, 13, 13}, {.kernel = 3, .stride = 2}},
    {"ceil_covers_all", {2, 3, 6, 7}, {.kernel = 3, .stride = 2, .ceil_mode = true}},
    {"ceil_without_rest", {1, 2, 7, 7}, {.kernel = 3, .stride = 2, .ceil_mode = true}},
    {"ceil_drops_empty_window",
     {1, 3, 4, 4},
     {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}},
    {"padded", {2, 3, 5, 4}, {.kernel = 3, .stride = 1, .padding = 1}},
    {"padded_ceil", {1, 17, 6, 5}, {.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true}},
    {"floor_leaves_a_rest", {1, 2, 8, 9}, {.kernel = 3, .stride = 3}},
    {"one_pixel", {1, 1, 1, 1}, {.kernel = 1, .stride = 1}},
    {"one_pixel_padded", {2, 1, 1, 1}, {.kernel = 3, .stride = 1, .padding = 1}},
    {"uneven", {2, 3, 9, 6}, {.kernel = {2, 3}, .stride = {3, 1}, .padding = {1, 0}}},
    {"apart_and_padded", {1, 3, 6, 6}, {.kernel = 3, .stride = 3, .padding = 1}},
    {"stride_beyond_kernel", {1, 4, 9, 9}, {.kernel = 2, .stride = 4}},
    {"even_ceil", {1, 3, 14, 14}, {.kernel = 3, .stride = 2, .ceil_mode = true}},
    {"window_of_9_in_a_row", {1, 2, 3, 20}, {.kernel = {1, 9}, .stride = {1, 1}}},
    {"window_of_10", {1, 2, 5, 9}, {.kernel = {2, 5}, .stride = {1, 2}, .padding = {1, 2}}},
    {"window_of_2", {1, 35, 5, 4}, {.kernel = {2, 1}, .stride = {1, 2}}},
    {"googlenet_branch", {1, 33, 7, 7}, {.kernel = 3, .stride = 1, .padding = 1}},
    {"googlenet_auxiliary", {1, 16, 14, 14}, {.kernel = 5, .stride = 3}},
    {"window_of_255", {1, 2, 15, 17}, {.kernel = {15, 17}, .stride = 1}},
    {"window_of_256", {1, 2, 16, 16}, {.kernel = 16, .stride = 1}},
};
INSTANTIATE_TEST_SUITE_P(Shapes, Pool2d, testing::ValuesIn(kPoolCases), pool_name);

const PoolCase kReluCases[] = {
    {"lenet_pool1", {2, 6, 28, 28}, {.kernel = 2, .stride = 2, .relu = true}},
    {"overlapping", {2, 17, 13, 13}, {.kernel = 3, .stride = 2, .ceil_mode = true, .relu = true}},
    {"padded", {1, 5, 6, 5}, {.kernel = 3, .stride = 2, .padding = 1, .relu = true}},
    {"one_pixel", {2, 33, 5, 5}, {.kernel = 1, .stride = 1, .relu = true}},
};

class ReluPool2d : public Pool2d {};
INSTANTIATE_TEST_SUITE_P(Shapes, ReluPool2d, testing::ValuesIn(kReluCases), pool_name);

// The same bits as a pooling of relu's result, and as a relu of the pooling's.
TEST_P(ReluPool2d, EqualsAReluBesideThePooling) {
  const PoolCase& c = GetParam();
  Pool2dParams plain = c.params;
  plain.relu = false;
  const HostTensor x = random_tensor(c.x, kPoolSeed), relu_x = reference::relu(x);
  const auto relu_y = reference::relu(reference::max_pool2d(x, plain).y);
  const HostTensor grad_output = random_tensor(relu_y.shape, kPoolSeed, 1);
  const auto whole = KernelRun()(*max_pool2d_op(c.params), {x}, grad_output);
  EXPECT_EQ(whole.outputs[0].values, relu_y.values);
  EXPECT_EQ(whole.outputs[0].values, reference::max_pool2d(relu_x, plain).y.values);
  const auto pooling = KernelRun()(*max_pool2d_op(plain), {relu_x}, grad_output);
  const auto both = KernelRun()(*relu_op(), {x}, pooling.gradients[0]);
  EXPECT_EQ(whole.gradients[0].values, both.gradients[0].values);
}

TEST(MaxPool2d, PassesNotANumberOnThroughRelu) {
  HostTensor x(Shape{1, 16, 2, 2}, -1);
  x.at(0, 3, 0, 1) = std::nan("");
  const auto result =
      KernelRun()(*max_pool2d_op({.kernel = 2, .relu = true}), {x}, HostTensor({1, 16, 1, 1}, 1));
  EXPECT_TRUE(std::isnan(result.outputs[0].at(0, 3, 0, 0)));
  EXPECT_EQ(result.outputs[1].at(0, 3, 0, 0), 1);
  EXPECT_EQ(result.outputs[0].at(0, 4, 0, 0), 0);
  EXPECT_EQ(result.outputs[1].at(0, 4, 0, 0), kNoPixel);
}

TEST(MaxPool2d, RefusesReluOfLargeWindows) {
  EXPECT_THROW(max_pool2d_op({.kernel = {2, 5}, .relu = true}), ShapeError);
}

TEST(MaxPool2d, FirstOfEqualValuesWinsAndGetsTheWholeGradient) {
  const Pool2dParams params{.kernel = 2, .stride = 2};
  const auto result = KernelRun()(*max_pool2d_op(params), {HostTensor(Shape{1, 16, 4, 4}, -1)},
                                  HostTensor(Shape{1, 16, 2, 2}, 1));
  EXPECT_EQ(result.outputs[0].values, HostTensor(Shape({1, 16, 2, 2}), -1).values);
  EXPECT_EQ(result.outputs[1].values, HostTensor(Shape({1, 16, 2, 2}), 0).values);
  EXPECT_EQ(result.gradients[0].at(0, 7, 0, 0), 1);
  EXPECT_EQ(result.gradients[0].at(0, 7, 0, 1), 0);
  EXPECT_EQ(result.gradients[0].at(0, 7, 1, 0), 0);
}

// Includes a window of 3 x 3 at a corner, where five of its nine pixels are padding.
TEST(MaxPool2d, TakesInfinitiesAndNotANumbersAsTheyAre) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Pool2dParams params{.kernel = 3, .stride = 2, .padding = 1};
  const auto result =
      KernelRun()(*max_pool2d_op(params), {HostTensor(Shape{1, 16, 3, 3}, -kInfinity)},
                  HostTensor(Shape{1, 16, 2, 2}, 1));
  EXPECT_EQ(result.outputs[0].values, HostTensor(Shape({1, 16, 2, 2}), -kInfinity).values);
  EXPECT_EQ(result.outputs[1].at(0, 3, 0, 0), 4);
  EXPECT_EQ(result.outputs[1].at(0, 3, 1, 1), 0);
  EXPECT_EQ(result.gradients[0].at(0, 3, 0, 0), 1);
  const auto nan =
      KernelRun()(*max_pool2d_op(params), {HostTensor(Shape{1, 16, 3, 3}, std::nan(""))},
                  HostTensor(Shape{1, 16, 2, 2}, 1));
  EXPECT_TRUE(std::isnan(nan.outputs[0].at(0, 3, 1, 0)));
}

// Chainer's cover_all: ceil((n + 2 padding - kernel) / stride) + 1, by hand. Covers every max
// pooling of the networks at its size, including a stride of 2 over an odd extent.
TEST(MaxPool2d, CeilModeIsChainersCoverAll) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{55, 27}, {27, 13}, {13, 6}, {112, 56},
                                                         {56, 28}, {28, 14}, {14, 7}, {147, 73},
                                                         {71, 35}, {35, 17}, {17, 8}};
  for (const auto& [image, expected] : sizes) {
    const std::vector<TensorSpec> x = {{{1, 1, image, image}}};
    const auto op = max_pool2d_op({.kernel = 3, .stride = 2, .ceil_mode = true});
    EXPECT_EQ(op->outputs(x)[0].spec.shape, (Shape{1, 1, expected, expected}));
  }
}

TEST(MaxPool2d, KeepsNoArgmaxWithoutAGradient) {
  const std::vector<TensorSpec> x = {{{2, 3, 4, 4}}};
  EXPECT_EQ(max_pool2d_op({.kernel = 2}, false)->outputs(x).size(), 1u);
  EXPECT_EQ(max_pool2d_op({.kernel = 2}, true)->outputs(x)[1].spec.str(), "u8[2, 3, 2, 2]");
}

TEST(MaxPool2d, StrideIsTheKernelUnlessGiven) {
  const std::vector<TensorSpec> x = {{{2, 3, 9, 9}}};
  EXPECT_EQ(max_pool2d_op({.kernel = {3, 2}})->outputs(x)[0].spec.shape, (Shape{2, 3, 3, 4}));
}

std::string pool_refusal(Pool2dParams params, std::vector<TensorSpec> inputs) {
  try {
    average_pool2d_op(params)->outputs(inputs);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(GlobalAveragePool2d, EqualsTheReferenceAndItsFiniteDifferences) {
  check_op({.apply =
                [](Context& context, std::vector<Tensor> x) {
                  return global_average_pool2d(context, std::move(x[0]));
                },
            .reference =
                [](const std::vector<HostTensor>& x) {
                  const Size2d image(static_cast<int>(x[0].shape[2]),
                                     static_cast<int>(x[0].shape[3]));
                  return reference::average_pool2d(x[0], {.kernel = image, .stride = image});
                },
            .inputs = {random_tensor({2, 19, 7, 5}, kPoolSeed)},
            .derivatives_per_input = 40,
            .seed = kPoolSeed});
}

TEST(GlobalAveragePool2d, RefusesWhatIsNoImage) {
  RecordedContext recorded;
  Tensor x = recorded.upload_vector({1, 2});
  try {
    global_average_pool2d(recorded.context, std::move(x));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[global_average_pool2d] x, got f32[2], expected f32 of rank 4");
  }
}

TEST(AveragePool2d, RefusesWhatDoesNotFit) {
  const TensorSpec x{{2, 3, 8, 8}};
  EXPECT_EQ(pool_refusal({.kernel = 8}, {x}), "accepted");
  EXPECT_EQ(pool_refusal({.kernel = 2}, {{{2, 3}}}),
            "[average_pool2d] x, got f32[2, 3], expected f32 of rank 4");
  EXPECT_EQ(pool_refusal({.kernel = 9}, {x}),
            "[average_pool2d] kernel, got 9, expected at most the padded image's 8");
  EXPECT_EQ(pool_refusal({.kernel = 0}, {x}),
            "[average_pool2d] kernel, got 0x0, expected at least 1");
  EXPECT_EQ(pool_refusal({.kernel = 2, .stride = -1}, {x}),
            "[average_pool2d] stride, got -1x-1, expected at least 0");
  EXPECT_EQ(pool_refusal({.kernel = 2, .padding = 2}, {x}),
            "[average_pool2d] padding, got 2x2, expected 0 up to below the kernel's 2x2");
  EXPECT_EQ(pool_refusal({.kernel = 2, .relu = true}, {x}),
            "[average_pool2d] kernel with relu, got 2x2, expected max_pool2d of at most 9 pixels");
  EXPECT_EQ(pool_refusal({.kernel = 2}, {x, x}),
            "[average_pool2d] number of inputs, got 2, expected 1");
}

}  // namespace
}  // namespace skyline
