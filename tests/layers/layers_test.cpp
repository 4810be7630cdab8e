#include <gtest/gtest.h>

#include <vector>

#include "framework/apply.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "layers/normalization.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class LayersTest : public ::testing::Test {
 protected:
  std::vector<float> read(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape().elements()));
    context_.download(tensor.detach(), values.data());
    return values;
  }
  Tensor upload(const Shape& shape, const std::vector<float>& values) {
    return context_.upload({shape}, values.data());
  }

  CpuDevice device_;
  BestFitPool pool_{device_};
  Context context_{pool_, {.seed = 3}};
};

TEST_F(LayersTest, ParametersBearTheScopesUnderWhichTheLayerWasMade) {
  const LayerScope outer(context_, "conv2_1");
  const Conv2d conv(context_, "conv1", {.in = 3, .out = 8, .kernel = 3});
  ASSERT_EQ(conv.parameters().size(), 2u);
  EXPECT_EQ(conv.parameters()[0].name, "conv2_1.conv1.weight");
  EXPECT_EQ(conv.parameters()[0].value.shape(), Shape({8, 3, 3, 3}));
  EXPECT_EQ(conv.parameters()[1].name, "conv2_1.conv1.bias");
  EXPECT_EQ(read(conv.parameters()[1].value), std::vector<float>(8, 0.0f));
}

TEST_F(LayersTest, ConvolutionWithoutBiasHasOneParameter) {
  const Conv2d conv(context_, "conv", {.in = 1, .out = 2, .kernel = 3, .bias = false});
  EXPECT_EQ(conv.parameters().size(), 1u);
}

TEST_F(LayersTest, ConvolutionKeepsItsStrideAndPadding) {
  const Conv2d conv(context_, "conv", {.in = 2, .out = 5, .kernel = 3, .stride = 2, .padding = 1});
  const Tensor y = conv(context_, upload({1, 2, 8, 6}, std::vector<float>(96, 1.0f)));
  EXPECT_EQ(y.shape(), Shape({1, 5, 4, 3}));
  EXPECT_THROW(conv(context_, upload({1, 3, 8, 6}, std::vector<float>(144))), ShapeError);
}

// One output of a 1 x 1 convolution over one pixel is the product of two vectors.
TEST_F(LayersTest, ConvolutionUsesItsWeightAndBias) {
  const Conv2d conv(context_, "conv", {.in = 2, .out = 1, .kernel = 1});
  const std::vector<float> weight = read(conv.parameters()[0].value);
  const std::vector<float> y = read(conv(context_, upload({1, 2, 1, 1}, {3.0f, -2.0f})));
  EXPECT_NEAR(y[0], 3 * weight[0] - 2 * weight[1], 1e-6);
}

// Two groups of one channel each, 1 x 1: each output is its own channel times its weight.
TEST_F(LayersTest, ConvolutionInGroupsHasAWeightForEachChannelOfItsGroup) {
  const Conv2d conv(context_, "conv", {.in = 2, .out = 4, .kernel = 1, .groups = 2});
  EXPECT_EQ(conv.parameters()[0].value.shape(), Shape({4, 1, 1, 1}));
  const std::vector<float> w = read(conv.parameters()[0].value);
  const std::vector<float> y = read(conv(context_, upload({1, 2, 1, 1}, {3.0f, -2.0f})));
  EXPECT_EQ(y, (std::vector<float>{3 * w[0], 3 * w[1], -2 * w[2], -2 * w[3]}));
}

TEST_F(LayersTest, LinearMultipliesByItsWeight) {
  const Linear linear(context_, "fc", {.in = 3, .out = 2});
  EXPECT_EQ(linear.parameters()[0].value.shape(), Shape({2, 3}));
  const std::vector<float> w = read(linear.parameters()[0].value);
  const std::vector<float> y = read(linear(context_, upload({1, 3}, {1, 2, 3})));
  EXPECT_NEAR(y[0], w[0] + 2 * w[1] + 3 * w[2], 1e-6);
  EXPECT_NEAR(y[1], w[3] + 2 * w[4] + 3 * w[5], 1e-6);
}

TEST_F(LayersTest, BatchNormStartsAsTheIdentityOfInference) {
  const BatchNorm2d norm(context_, "bn", 2, {.epsilon = 0});
  EXPECT_EQ(read(norm.parameters()[0].value), std::vector<float>(2, 1.0f));
  EXPECT_EQ(read(norm.parameters()[1].value), std::vector<float>(2, 0.0f));
  ASSERT_EQ(norm.buffers().size(), 2u);
  EXPECT_EQ(norm.buffers()[0].name, "bn.running_mean");
  EXPECT_EQ(norm.buffers()[1].name, "bn.running_variance");
  context_.set_mode(Mode::kInference);
  const std::vector<float> x = {1, -2, 3, 4};
  const std::vector<float> y = read(norm(context_, upload({1, 2, 1, 2}, x)));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-6);
}

TEST_F(LayersTest, BatchNormMovesItsRunningValuesInTraining) {
  const BatchNorm2d norm(context_, "bn", 1);
  norm(context_, upload({4, 1, 1, 1}, {1, 2, 3, 4}));
  EXPECT_NEAR(read(norm.buffers()[0].value)[0], 0.1 * 2.5, 1e-6);
  EXPECT_NEAR(read(norm.buffers()[1].value)[0], 0.9 + 0.1 * 5.0 / 3.0, 1e-6);
}

TEST_F(LayersTest, OpsAreTaggedWithTheLayer) {
  const LayerScope block(context_, "block");
  const Linear linear(context_, "fc", {.in = 1, .out = 1});
  context_.watch().record_graph = true;
  context_.begin_step();
  linear(context_, upload({1, 1}, {1}));
  context_.end_step();
  EXPECT_EQ(context_.step_graph().ops.back().layer, "block.fc");
  EXPECT_EQ(context_.layer(), "block");
}

TEST_F(LayersTest, InferenceContextsHaveNoGradients) {
  Context inference(pool_, {.mode = Mode::kInference});
  const Linear linear(inference, "fc", {.in = 2, .out = 2});
  EXPECT_FALSE(linear.parameters()[0].gradient);
  EXPECT_FALSE(linear.parameters()[0].value.requires_grad());
}

TEST(DryLayersTest, DrawNothingAndTouchNoMemory) {
  SimulatedDevice device;
  BestFitPool pool(device);
  Context context(pool, {.dry_run = Emulation(), .seed = 5});
  const Conv2d conv(context, "conv", {.in = 512, .out = 512, .kernel = 3});
  EXPECT_EQ(context.random().next, 0u);
  EXPECT_EQ(conv.parameters()[0].value.spec().bytes(), std::size_t{4} * 512 * 512 * 9);
}

}  // namespace
}  // namespace skyline
