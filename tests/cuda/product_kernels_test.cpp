#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/convolution_cuda.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/recurrent/lstm_kernels.h"
#include "tests/cuda/kernel_pair.h"
#include "tests/cuda_emulation/convolution_workspace.h"

// Linear layers, convolutions and LSTMs: their own CUDA kernels, with loops in place of libraries.

namespace skyline {
namespace {

constexpr double kTolerance = 1e-5;

LinearProblem linear_problem(std::int64_t rows, std::int64_t in, std::int64_t out, bool bias) {
  return {.x = {rows, in}, .weight = {out, in}, .y = {rows, out}, .bias = bias};
}

void expect_linear(const LinearProblem& problem) {
  const std::string what = problem.x.str() + " " + problem.weight.str();
  const Bytes x = random_operand(problem.x.elements(), 1);
  const Bytes weight = random_operand(problem.weight.elements(), 2);
  const Bytes bias = random_operand(problem.weight[0], 3);
  const Bytes grad_output = random_operand(problem.y.elements(), 4);
  KernelPair forward{
      .cpu = [=] { return make_linear_cpu({}, problem); },
      .cuda = [=](CudaCompute& compute) { return make_linear_cuda(compute, problem); },
      .inputs = {x, weight},
      .outputs = {{problem.y}},
      .tolerance = kTolerance};
  KernelPair grad_weight{
      .cpu = [=] { return make_linear_grad_weight_cpu(problem); },
      .cuda = [=](CudaCompute& compute) { return make_linear_grad_weight_cuda(compute, problem); },
      .inputs = {x, grad_output},
      .outputs = {{problem.weight}},
      .tolerance = kTolerance};
  if (problem.bias) {
    forward.inputs.push_back(bias);
    grad_weight.outputs.push_back({problem.bias_shape()});
  }
  expect_same("linear " + what, forward);
  expect_same("linear_grad_weight " + what, grad_weight);
  expect_same(
      "linear_grad_input " + what,
      {.cpu = [=] { return make_linear_grad_input_cpu({}, problem); },
       .cuda = [=](CudaCompute& compute) { return make_linear_grad_input_cuda(compute, problem); },
       .inputs = {weight, grad_output},
       .outputs = {{problem.x}},
       .tolerance = kTolerance});
}

TEST(ProductKernels, LinearAsTheCpu) {
  for (const bool bias : {false, true}) {
    expect_linear(linear_problem(5, 7, 3, bias));
    expect_linear(linear_problem(1, 1, 1, bias));
    expect_linear(linear_problem(33, 16, 20, bias));
  }
}

// So many rows, and so many columns, that blocks share them.
TEST(ProductKernels, SumsOfManyRows) {
  expect_linear(linear_problem(1500, 2, 5, true));
  expect_linear(linear_problem(300, 1, 300, true));
}

struct ConvolutionCase {
  Shape x, weight;
  Conv2dParams params;
};

Conv2dProblem problem_of(const ConvolutionCase& one, bool bias, bool relu) {
  Conv2dParams params = one.params;
  params.relu = relu;
  const TensorSpec specs[] = {{one.x}, {one.weight}};
  return {one.x, one.weight, conv2d_op(params)->outputs(specs).front().spec.shape, params, bias};
}

std::vector<ConvolutionCase> convolution_cases() {
  return {{{2, 3, 6, 5}, {4, 3, 3, 3}, {.stride = 1, .padding = 1}},
          {{2, 3, 6, 5}, {4, 3, 4, 3}, {.padding = {0, 2}}},
          {{2, 3, 4, 5}, {4, 3, 2, 3}, {.padding = 2}},
          {{1, 4, 7, 7}, {33, 4, 1, 1}, {.stride = 2}},
          {{2, 4, 8, 9}, {8, 4, 1, 1}, {.stride = 3}},
          {{1, 4, 7, 7}, {5, 4, 1, 1}, {.stride = {1, 2}}},
          {{2, 5, 4, 3}, {7, 5, 1, 1}, {}},  // a product
          {{3, 2, 8, 9}, {5, 2, 5, 3}, {.stride = {2, 1}, .padding = {2, 0}}},
          {{2, 6, 5, 4}, {9, 2, 3, 2}, {.padding = 1, .groups = 3}},
          {{1, 7, 6, 6}, {7, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 7}}};
}

TEST(ProductKernels, ConvolvesAsTheCpu) {
  for (const ConvolutionCase& one : convolution_cases()) {
    for (const auto& [bias, relu] :
         {std::pair{false, false}, {true, false}, {true, true}, {false, true}}) {
      const Conv2dProblem problem = problem_of(one, bias, relu);
      KernelPair pair{
          .cpu = [=] { return make_conv2d_cpu({}, problem); },
          .cuda = [=](CudaCompute& compute) { return make_conv2d_cuda(compute, problem); },
          .inputs = {random_operand(problem.x.elements(), 1),
                     random_operand(problem.weight.elements(), 2)},
          .outputs = {{problem.y}},
          .tolerance = kTolerance};
      if (bias) pair.inputs.push_back(random_operand(problem.weight[0], 3));
      expect_same("conv2d " + problem.str(), pair);
    }
  }
}

// A library's relu replaces NaN; that of the op, which convolutions with groups take here, does
// not.
TEST(ProductKernels, ReluOfConvolutionsAndNan) {
  for (const ConvolutionCase& one : convolution_cases()) {
    const Conv2dProblem problem = problem_of(one, true, true);
    std::vector<float> x = random_floats(problem.x.elements(), 1);
    x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    const KernelPair pair{
        .cpu = {},
        .cuda = [=](CudaCompute& compute) { return make_conv2d_cuda(compute, problem); },
        .inputs = {bytes_of(x), random_operand(problem.weight.elements(), 2),
                   random_operand(problem.weight[0], 3)},
        .outputs = {{problem.y}}};
    std::vector<float> y(static_cast<std::size_t>(problem.y.elements()));
    std::memcpy(y.data(), run_on_emulation(pair).front().data(), y.size() * sizeof(float));
    const bool has_nan = std::ranges::any_of(y, [](float value) { return std::isnan(value); });
    EXPECT_EQ(has_nan, problem.params.groups > 1) << problem.str();
  }
}

TEST(ProductKernels, ConvolutionsGradientsAsTheCpu) {
  for (const ConvolutionCase& one : convolution_cases()) {
    for (const bool bias : {false, true}) {
      const Conv2dProblem problem = problem_of(one, bias, false);
      const Bytes grad_output = random_operand(problem.y.elements(), 4);
      KernelPair grad_weight{
          .cpu = [=] { return make_conv2d_grad_weight_cpu({}, problem); },
          .cuda =
              [=](CudaCompute& compute) { return make_conv2d_grad_weight_cuda(compute, problem); },
          .inputs = {random_operand(problem.x.elements(), 1), grad_output},
          .outputs = {{problem.weight}},
          .tolerance = kTolerance};
      if (bias) grad_weight.outputs.push_back({problem.bias_shape()});
      expect_same("conv2d_grad_weight " + problem.str(), grad_weight);
      expect_same(
          "conv2d_grad_input " + problem.str(),
          {.cpu = [=] { return make_conv2d_grad_input_cpu({}, problem); },
           .cuda =
               [=](CudaCompute& compute) { return make_conv2d_grad_input_cuda(compute, problem); },
           .inputs = {random_operand(problem.weight.elements(), 2), grad_output},
           .outputs = {{problem.x}},
           .tolerance = kTolerance});
    }
  }
}

// Nothing but windows of one pixel at every pixel is a product.
TEST(ProductKernels, OnlyProductsAreProducts) {
  for (const ConvolutionCase& one : convolution_cases()) {
    const bool product = one.weight[0] == 7 && one.weight[1] == 5;
    EXPECT_EQ(problem_of(one, true, false).is_product(), product) << one.weight.str();
  }
  const auto pointwise = [](const Conv2dParams& params) {
    return problem_of({{2, 4, 4, 4}, {4, 4 / params.groups, 1, 1}, params}, true, true)
        .is_product();
  };
  EXPECT_TRUE(pointwise({}));
  EXPECT_FALSE(pointwise({.padding = 1}));
  EXPECT_FALSE(pointwise({.groups = 2}));
  EXPECT_FALSE(pointwise({.stride = {1, 2}}));
}

constexpr const char* kLarge = "product of 4096 x 64 and 64 x 2048";

// The limit of --workspace holds for them, too.
TEST(ProductKernels, PartialSumsKeepToTheLimit) {
  const ProductProblem small{.rows = 256, .columns = 64, .inner = 100'000};
  ProductProblem limited = small;
  EXPECT_EQ(product_workspace_bytes(small), 8u * 256 * 64 * 4);
  limited.most_workspace_bytes = 200'000;
  EXPECT_EQ(product_workspace_bytes(limited), 3u * 256 * 64 * 4);
  limited.most_workspace_bytes = 0;
  EXPECT_EQ(product_workspace_bytes(limited), 0u);
  // Two shares of a result of 12 MiB; none of one that fills the card, nor of short sums.
  EXPECT_EQ(product_workspace_bytes({.rows = 1536, .columns = 2048, .inner = 9000}), 24u << 20);
  EXPECT_EQ(product_workspace_bytes({.rows = 4096, .columns = 2048, .inner = 9000}), 0u);
  EXPECT_EQ(product_workspace_bytes({.rows = 256, .columns = 64, .inner = 511}), 0u);
}

// The bytes that a large product asks for with these choices.
std::size_t spare_bytes(EngineChoices& engines, CudaOptions options = {}) {
  ProductProblem problem{.rows = 4096, .columns = 2048, .inner = 64};
  options.engines = &engines;
  const std::optional<EngineUse> use = use_spare_bytes(problem, options);
  EXPECT_TRUE(use && use->wants_room && use->problem == kLarge);
  return product_workspace_bytes(problem);
}

TEST(ProductKernels, LargeResultsUseTheRoomInAPeak) {
  const auto within = [](std::size_t room) {
    EngineChoices engines{.most_workspace_bytes = {{kLarge, room}}};
    const std::size_t bytes = spare_bytes(engines);
    EXPECT_EQ(engines.by_problem.at(kLarge).workspace_bytes, bytes) << "for other runs";
    return bytes;
  };
  EXPECT_EQ(within(std::size_t{1} << 30), std::size_t{32} << 20);
  EXPECT_EQ(within(std::size_t{32} << 20), std::size_t{32} << 20);
  EXPECT_EQ(within((std::size_t{32} << 20) - 1), 0u);
  ProductProblem limited{.rows = 4096, .columns = 2048, .inner = 64, .spare_bytes = 100'000};
  limited.most_workspace_bytes = 70'000;
  EXPECT_EQ(product_workspace_bytes(limited), 70'000u);
}

TEST(ProductKernels, LargeResultsUseNothingWhereNoPeakIsKnown) {
  EngineChoices engines;
  EXPECT_EQ(spare_bytes(engines), 0u);
  EXPECT_TRUE(engines.by_problem.empty());
  EXPECT_EQ(spare_bytes(engines, {.measured = true}), 0u);
  engines.most_workspace_bytes[kLarge] = std::size_t{1} << 30;
  EXPECT_EQ(spare_bytes(engines), 0u) << "as in the run that measured";
  engines.by_problem[kLarge].workspace_bytes = 200'000;
  EXPECT_EQ(spare_bytes(engines), 200'000u) << "a given choice";
  ProductProblem small{.rows = 4, .columns = 5, .inner = 6};
  EXPECT_FALSE(use_spare_bytes(small, {.engines = &engines}));
}

// Returns the workspace of the gradient of an input.
std::size_t workspace_of(const ConvolutionCase& one, const CudaOptions& options = {}) {
  CudaCompute compute(options);
  return make_conv2d_grad_input_cuda(compute, problem_of(one, false, false))->workspace_bytes();
}

// Returns what the emulated library's own gradient asks for.
std::size_t direct_of(const ConvolutionCase& one) {
  return cuda_emulation::convolution_workspace_bytes(ConvolutionKind::kGradInput,
                                                     problem_of(one, false, false));
}

// Its forward pass asks for as much as its own gradient; parts begin at multiples of 64.
TEST(ProductKernels, GradientsOfInputsConvolveTurnedWeightsOrSpreadProducts) {
  const ConvolutionCase windows{{2, 3, 6, 5}, {4, 3, 3, 3}, {.padding = {2, 1}}};
  const std::size_t turned = 2496 + 448;  // 108 floats of the weight
  EXPECT_EQ(workspace_of(windows), turned);
  EXPECT_EQ(workspace_of(windows, {.workspace_bytes = turned}), turned);
  EXPECT_EQ(workspace_of(windows, {.workspace_bytes = turned - 1}), direct_of(windows));
  EXPECT_EQ(workspace_of(windows, {.tf32 = true}), direct_of(windows));
  const auto is_direct = [&](const ConvolutionCase& one) {
    return workspace_of(one) == direct_of(one);
  };
  const auto with = [&](const Conv2dParams& params) {
    return ConvolutionCase{windows.x, windows.weight, params};
  };
  EXPECT_TRUE(is_direct(with({.stride = {2, 1}})));
  EXPECT_TRUE(is_direct(with({.padding = {3, 1}}))) << "some windows contain no pixel";
  EXPECT_TRUE(is_direct(with({.padding = {1, 3}})));
  EXPECT_TRUE(is_direct({{2, 6, 5, 5}, {4, 3, 3, 3}, {.groups = 2}}));
  const ConvolutionCase pixels{{2, 4, 8, 9}, {8, 4, 1, 1}, {.stride = 3}};
  EXPECT_EQ(workspace_of(pixels), 2u * 4 * 3 * 3 * sizeof(float) + 32) << "whole parts";
  EXPECT_EQ(workspace_of(pixels, {.tf32 = true}), direct_of(pixels));
  const std::size_t product = product_workspace_bytes({.rows = 1, .columns = 4, .inner = 2048});
  EXPECT_GT(product, 0u);
  EXPECT_EQ(workspace_of({{1, 4, 2, 2}, {2048, 4, 1, 1}, {.stride = 2}}), product + 64);
  EXPECT_TRUE(is_direct({{1, 4, 7, 7}, {5, 4, 1, 1}, {.stride = {1, 2}}}));
}

// The gradient of a weight [O, F] for a batch of so many rows.
std::size_t workspace_of_dense(std::int64_t rows, const CudaOptions& options) {
  CudaCompute compute(options);
  return make_linear_grad_weight_cuda(compute, linear_problem(rows, 8, 8, false))
      ->workspace_bytes();
}

TEST(ProductKernels, DenseLayersKeepToTheLimit) {
  EXPECT_EQ(workspace_of_dense(1024, {}), 4u * 8 * 8 * sizeof(float));
  EXPECT_EQ(workspace_of_dense(1024, {.workspace_bytes = 600}), 2u * 8 * 8 * sizeof(float));
  EXPECT_EQ(workspace_of_dense(1024, {.workspace_bytes = 0}), 0u);
}

// A spread product leaves what --workspace allows beside its pixels, 17 MB here.
TEST(ProductKernels, SpreadProductsShareTheLimitWithTheirPixels) {
  const ConvolutionCase large{{16, 64, 129, 129}, {1, 64, 1, 1}, {.stride = 2}};
  const std::size_t pixels = std::size_t{16} * 64 * 65 * 65 * sizeof(float);
  EngineChoices engines{
      .most_workspace_bytes = {{"product of 67600 x 1 and 1 x 64", std::size_t{1} << 30}}};
  const auto bytes = [&](const CudaOptions& options) { return workspace_of(large, options); };
  EXPECT_EQ(bytes({.engines = &engines}), pixels + (std::size_t{32} << 20));
  const std::size_t limit = pixels + 1'000'000;
  const std::size_t shared = bytes({.workspace_bytes = limit, .engines = &engines});
  EXPECT_LE(shared, limit);
  EXPECT_GT(shared, pixels + 999'000);
  EXPECT_EQ(bytes({.workspace_bytes = pixels + 128, .engines = &engines}), pixels);
}

LstmProblem lstm_problem(std::vector<std::int32_t> lengths, std::int64_t in, std::int64_t units,
                         std::int64_t layers, bool state) {
  return {.shape = PackedShape::of_lengths(lengths),
          .in = in,
          .units = units,
          .layers = layers,
          .state = state};
}

// Rows times units are multiples of 16, so that the reserve has no gaps, which nobody writes.
std::vector<LstmProblem> lstm_problems() {
  std::vector<LstmProblem> problems = {
      lstm_problem({4, 3, 3, 2}, 6, 8, 2, true), lstm_problem({9, 7}, 3, 5, 1, false),
      lstm_problem({1}, 2, 16, 1, true), lstm_problem({2, 2, 2, 2}, 5, 4, 3, false)};
  LstmProblem dropped = lstm_problem({5, 2, 1}, 7, 12, 3, true);
  dropped.mask = {.seed = 3, .stream = 1, .rate = 0.4f};
  problems.push_back(dropped);
  return problems;
}

std::vector<Bytes> weights_of(const LstmProblem& problem) {
  std::vector<Bytes> weights;
  std::uint64_t stream = 10;
  for (std::int64_t layer = 0; layer < problem.layers; ++layer) {
    for (const std::int64_t columns :
         {problem.input_width(layer), problem.units, std::int64_t{1}, std::int64_t{1}}) {
      weights.push_back(random_operand(problem.gates() * columns, ++stream, -0.5f, 0.5f));
    }
  }
  return weights;
}

KernelPair lstm_pair(const LstmProblem& problem) {
  const Shape state{problem.layers * problem.sentences(), problem.units};
  KernelPair pair{.cpu = [=] { return make_lstm_cpu({}, problem); },
                  .cuda = [=](CudaCompute& compute) { return make_lstm_cuda(compute, problem); },
                  .inputs = {random_operand(problem.rows() * problem.in, 1)},
                  .outputs = {{{problem.rows(), problem.units}}, {state}, {state}},
                  .tolerance = kTolerance};
  if (problem.mask) pair.run_value = RunValue(std::uint64_t{9});
  for (std::uint64_t k = 0; problem.state && k < 2; ++k) {
    pair.inputs.push_back(random_operand(state.elements(), 2 + k));
  }
  for (Bytes& weight : weights_of(problem)) pair.inputs.push_back(std::move(weight));
  if (problem.retained) pair.outputs.push_back({Shape{LstmReserve(problem).floats()}});
  return pair;
}

TEST(ProductKernels, LstmAsTheCpu) {
  for (LstmProblem problem : lstm_problems()) {
    for (const bool retained : {true, false}) {
      problem.retained = retained;
      expect_same("lstm of " + std::to_string(problem.layers) + " layers", lstm_pair(problem));
    }
  }
}

// Computes the gradients from what `forward` retained.
KernelPair lstm_grad_pair(const LstmProblem& problem, const LstmGradients& gradients) {
  const KernelPair forward = lstm_pair(problem);
  const std::vector<Bytes> retained = run_on_emulation(forward);
  const Shape x{problem.rows(), problem.in}, y{problem.rows(), problem.units};
  const Shape state{problem.layers * problem.sentences(), problem.units};
  KernelPair pair{
      .cpu =
          [=] {
            return make_lstm_grad_cpu({}, {problem, gradients});
          },
      .cuda =
          [=](CudaCompute& compute) {
            return make_lstm_grad_cuda(compute, {problem, gradients});
          },
      .inputs = {forward.inputs.begin(), forward.inputs.begin() + (problem.state ? 3 : 1)},
      .tolerance = kTolerance,
      .run_value = forward.run_value};
  pair.inputs.insert(pair.inputs.end(),
                     {retained[0], retained[3], random_operand(y.elements(), 5),
                      random_operand(state.elements(), 6), random_operand(state.elements(), 7)});
  const std::vector<Bytes> weights = weights_of(problem);
  for (std::size_t k = 0; k < weights.size(); k += 4) {
    pair.inputs.insert(pair.inputs.end(), {weights[k], weights[k + 1]});
  }
  if (gradients.x) pair.outputs.push_back({x});
  if (gradients.state) pair.outputs.insert(pair.outputs.end(), 2, {state});
  for (std::int64_t layer = 0; gradients.weights && layer < problem.layers; ++layer) {
    pair.outputs.push_back({{problem.gates(), problem.input_width(layer)}});
    pair.outputs.push_back({{problem.gates(), problem.units}});
    pair.outputs.insert(pair.outputs.end(), 2, {Shape{problem.gates()}});
  }
  return pair;
}

TEST(ProductKernels, LstmsGradientsAsTheCpu) {
  for (const LstmProblem& problem : lstm_problems()) {
    for (const LstmGradients& gradients :
         {LstmGradients{.x = true, .state = problem.state, .weights = true},
          LstmGradients{.weights = true}, LstmGradients{.x = true}}) {
      expect_same("lstm_grad of " + std::to_string(problem.layers) + " layers",
                  lstm_grad_pair(problem, gradients));
    }
  }
}

// So many steps that their addresses need two kernels.
TEST(ProductKernels, LstmOfManySteps) {
  const LstmProblem problem = lstm_problem({140, 20}, 2, 4, 1, false);
  expect_same("lstm of 140 steps", lstm_pair(problem));
  expect_same("lstm_grad of 140 steps", lstm_grad_pair(problem, {.x = true, .weights = true}));
}

}  // namespace
}  // namespace skyline
