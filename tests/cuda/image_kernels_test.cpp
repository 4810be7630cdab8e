#include <gtest/gtest.h>

#include <utility>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/math/arithmetic_kernels.h"
#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/pooling/pool2d_kernels.h"
#include "tests/cuda/kernel_pair.h"

namespace skyline {
namespace {

// Windows: the networks' own, with padding, beyond the far edge, of more than 9 pixels, of more
// than 255 pixels (i32 indices), and one for the whole image.
std::vector<Pool2dParams> windows() {
  return {{.kernel = 2, .stride = 2},
          {.kernel = 3, .stride = 2, .ceil_mode = true},
          {.kernel = 3, .stride = 1, .padding = 1},
          {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}},
          {.kernel = 5, .stride = 3, .padding = 2},
          {.kernel = 1, .stride = 2},
          {.kernel = {9, 10}, .stride = {9, 10}},
          {.kernel = 17, .stride = 1, .padding = 8}};
}

Pool2dProblem problem_of(const Shape& x, const Pool2dParams& params, bool max) {
  const auto op = max ? max_pool2d_op(params) : average_pool2d_op(params);
  const TensorSpec specs[] = {{x}};
  return {x, op->outputs(specs).front().spec.shape, params, max};
}

TEST(ImageKernels, MaxPoolsAsTheCpu) {
  std::vector<Pool2dParams> all = windows();
  all.push_back({.kernel = 3, .stride = 2, .padding = 1, .relu = true});
  all.push_back({.kernel = 2, .stride = 2, .relu = true});
  for (const std::int64_t channels : {1, 3, 8}) {
    for (const Pool2dParams& params : all) {
      const Pool2dProblem problem = problem_of({2, channels, 9, 10}, params, true);
      KernelPair pair{
          .cpu = [=] { return make_max_pool2d_cpu(problem); },
          .cuda = [=](CudaCompute& compute) { return make_max_pool2d_cuda(compute, problem); },
          .inputs = {random_operand(problem.x.elements(), 1)},
          .outputs = {{problem.y}, problem.argmax()}};
      expect_same("max_pool2d " + problem.str(), pair);
      const Bytes argmax = run_on_emulation(pair)[1];
      pair.outputs.pop_back();
      Pool2dProblem inference = problem;
      inference.indices = false;
      pair.cpu = [=] { return make_max_pool2d_cpu(inference); };
      pair.cuda = [=](CudaCompute& compute) { return make_max_pool2d_cuda(compute, inference); };
      expect_same("max_pool2d inference " + problem.str(), pair);
      expect_same(
          "max_pool2d_grad " + problem.str(),
          {.cpu = [=] { return make_max_pool2d_grad_cpu(problem); },
           .cuda =
               [=](CudaCompute& compute) { return make_max_pool2d_grad_cuda(compute, problem); },
           .inputs = {argmax, random_operand(problem.y.elements(), 2)},
           .outputs = {{problem.x}},
           .tolerance = problem.params.kernel.area() <= 9 ? 0 : 1e-6});
    }
  }
}

TEST(ImageKernels, MaxPoolTakesTheFirstOfEqualPixels) {
  const Pool2dProblem problem = problem_of({1, 4, 6, 6}, {.kernel = 3, .stride = 1}, true);
  const std::vector<float> x(static_cast<std::size_t>(problem.x.elements()), -1.0f);
  expect_same("max_pool2d",
              {.cpu = [=] { return make_max_pool2d_cpu(problem); },
               .cuda = [=](CudaCompute& compute) { return make_max_pool2d_cuda(compute, problem); },
               .inputs = {bytes_of(x)},
               .outputs = {{problem.y}, problem.argmax()}});
}

void expect_same_average(const Pool2dProblem& problem) {
  expect_same(
      "average_pool2d " + problem.str(),
      {.cpu = [=] { return make_average_pool2d_cpu(problem); },
       .cuda = [=](CudaCompute& compute) { return make_average_pool2d_cuda(compute, problem); },
       .inputs = {random_operand(problem.x.elements(), 1)},
       .outputs = {{problem.y}},
       .tolerance = 1e-6});
  expect_same(
      "average_pool2d_grad " + problem.str(),
      {.cpu = [=] { return make_average_pool2d_grad_cpu(problem); },
       .cuda =
           [=](CudaCompute& compute) { return make_average_pool2d_grad_cuda(compute, problem); },
       .inputs = {random_operand(problem.y.elements(), 2)},
       .outputs = {{problem.x}},
       .tolerance = 1e-6});
}

TEST(ImageKernels, AveragePoolsAsTheCpu) {
  for (const std::int64_t channels : {1, 3, 8}) {
    for (const Pool2dParams& params : windows()) {
      expect_same_average(problem_of({2, channels, 9, 10}, params, false));
    }
  }
}

TEST(ImageKernels, AveragesWholeImagesOfManyChannels) {
  for (const std::int64_t channels : {5, 260, 2048}) {
    expect_same_average(problem_of({2, channels, 7, 7}, {.kernel = 7, .stride = 7}, false));
  }
}

TEST(ImageKernels, AveragesMoreImagesThanAGridHolds) {
  const Pool2dParams whole{.kernel = {1, 2}, .stride = {1, 2}};
  expect_same_average(problem_of({65540, 1, 1, 2}, whole, false));
}

// One pixel, one channel, fewer and more channels than lanes, several chunks and tiles.
std::vector<Shape> images() {
  return {{1, 1, 1, 1},  {2, 3, 5, 7},    {1, 4, 40, 40},
          {2, 96, 9, 9}, {1, 300, 5, 13}, {3, 67, 8, 8}};
}

Bytes varied(const Shape& x, std::uint64_t stream) {
  std::vector<float> values = random_floats(x.elements(), stream);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // A mean a channel, so small that the last bit of its float does not show in y.
    values[i] += static_cast<float>(static_cast<std::int64_t>(i) % x[1]) / static_cast<float>(x[1]);
  }
  return bytes_of(values);
}

// Operands of batch normalization, and its kernels of both backends.
struct BatchNormPairs {
  explicit BatchNormPairs(const Shape& of) : x(of) {}

  KernelPair forward(const BatchNormProblem& problem, std::vector<Bytes> inputs,
                     std::size_t of_channels = 2) const {
    KernelPair pair{
        .cpu = [=] { return make_batch_norm_cpu(problem); },
        .cuda = [=](CudaCompute& compute) { return make_batch_norm_cuda(compute, problem); },
        .inputs = std::move(inputs),
        .outputs = {{x}},
        .tolerance = 5e-6};
    pair.outputs.insert(pair.outputs.end(), of_channels, channels);
    return pair;
  }
  KernelPair inference(const BatchNormProblem& problem, std::vector<Bytes> inputs) const {
    return {
        .cpu = [=] { return make_batch_norm_inference_cpu(problem); },
        .cuda =
            [=](CudaCompute& compute) { return make_batch_norm_inference_cuda(compute, problem); },
        .inputs = std::move(inputs),
        .outputs = {{x}},
        .in_place = {{0, 0}},
        .tolerance = 1e-6};
  }
  KernelPair backward(const BatchNormProblem& problem, std::vector<Bytes> inputs) const {
    return {
        .cpu = [=] { return make_batch_norm_grad_cpu(problem); },
        .cuda = [=](CudaCompute& compute) { return make_batch_norm_grad_cuda(compute, problem); },
        .inputs = std::move(inputs),
        .outputs = {{x}, channels, channels},
        .tolerance = 2e-6};
  }

  Shape x;
  TensorSpec channels{{x[1]}};
  Bytes pixels = varied(x, 1), gamma = random_operand(x[1], 2, 0.5f, 2);
  Bytes beta = random_operand(x[1], 3), shortcut = varied(x, 4);
  Bytes other_gamma = random_operand(x[1], 7, 0.5f, 2), other_beta = random_operand(x[1], 8);
  // Parts of the gradient.
  Bytes first = random_operand(x.elements(), 5), second = random_operand(x.elements(), 6);
};

TEST(ImageKernels, BatchNormIsThatOfTheCpu) {
  for (const Shape& x : images()) {
    for (const BatchNormParams& params :
         {BatchNormParams{}, {.relu = true}, {.relu = true, .relu_limit = 0.75f}}) {
      const BatchNormPairs of(x);
      const KernelPair forward = of.forward({x, params}, {of.pixels, of.gamma, of.beta});
      expect_same("batch_norm " + x.str(), forward);
      const auto statistics = run_on_emulation(forward);
      KernelPair backward =
          of.backward({x, params}, {of.pixels, of.gamma, statistics[1], statistics[2], of.first});
      backward.in_place = {{4, 0}};
      if (params.relu) backward.inputs.push_back(of.beta);
      expect_same("batch_norm_grad " + x.str(), backward);
      KernelPair inference =
          of.inference({x, params}, {of.pixels, of.gamma, of.beta, of.other_beta, of.other_gamma});
      inference.tolerance = 1.2e-7;
      expect_same("batch_norm_inference " + x.str(), inference);
    }
  }
}

// The bits of y and of all gradients are those of the parts: a sum, relu's gradient and the plain
// normalization's, which the emulation runs, too.
TEST(ImageKernels, BatchNormWithAShortcutIsThatOfTheCpuAndOfItsParts) {
  for (const Shape& x : images()) {
    const BatchNormPairs of(x);
    const auto plain = run_on_emulation(of.forward({x}, {of.pixels, of.gamma, of.beta}));
    const auto elementwise = [&](auto cpu, auto cuda, std::vector<Bytes> inputs) {
      return run_on_emulation(
          {.cpu = cpu, .cuda = cuda, .inputs = std::move(inputs), .outputs = {{x}}})[0];
    };
    for (const bool relu : {false, true}) {
      const BatchNormProblem problem{x, {.relu = relu, .shortcut = true}};
      KernelPair fused = of.forward(problem, {of.pixels, of.gamma, of.beta, of.shortcut});
      fused.in_place = {{3, 0}};
      expect_same("batch_norm with a shortcut " + x.str(), fused);
      const Bytes y = run_on_emulation(fused)[0];
      const AddScaledParams params{.relu = relu};
      EXPECT_EQ(y, elementwise([=] { return make_add_scaled_cpu(x.elements(), params); },
                               [=](CudaCompute& compute) {
                                 return make_add_scaled_cuda(compute, x.elements(), params);
                               },
                               {of.shortcut, plain[0]}));
      KernelPair inference =
          of.inference(problem, {of.pixels, of.gamma, of.beta, plain[1], plain[2], of.shortcut});
      inference.in_place.push_back({5, 0});
      expect_same("batch_norm_inference with a shortcut " + x.str(), inference);
      if (!relu) continue;
      for (const bool of_sum : {false, true}) {
        KernelPair grad = of.backward({.x = x, .params = problem.params, .of_sum = of_sum},
                                      {of.pixels, of.gamma, plain[1], plain[2], of.first, y});
        grad.outputs.push_back({x});
        grad.in_place = {{4, 3}, {5, 0}};
        if (of_sum) {
          grad.inputs.push_back(of.second);
          grad.in_place.insert(grad.in_place.end(), {{6, 3}, {6, 0}});
        }
        expect_same("batch_norm_grad with a shortcut " + x.str(), grad);
        const auto gradients = run_on_emulation(grad);
        const Bytes whole = !of_sum ? of.first
                                    : elementwise([=] { return make_sum_cpu(x.elements(), 2); },
                                                  [=](CudaCompute& compute) {
                                                    return make_sum_cuda(compute, x.elements(), 2);
                                                  },
                                                  {of.first, of.second});
        const ActivationProblem relu_grad{ActivationKind::kRelu, true, x.elements()};
        const Bytes passed = elementwise(
            [=] { return make_activation_cpu(relu_grad); },
            [=](CudaCompute& compute) { return make_activation_cuda(compute, relu_grad); },
            {whole, y});
        EXPECT_EQ(gradients[3], passed);
        const auto parts =
            run_on_emulation(of.backward({x}, {of.pixels, of.gamma, plain[1], plain[2], passed}));
        for (std::size_t j = 0; j < parts.size(); ++j) EXPECT_EQ(gradients[j], parts[j]) << j;
      }
    }
  }
}

// The bits are those of the plain normalization of the shortcut, then of the one with a shortcut.
TEST(ImageKernels, BatchNormWithAProjectionIsThatOfTheCpuAndOfItsParts) {
  const RunningUpdate update{.decay = 0.9f, .mean_gain = 0.1f, .variance_gain = 0.11f};
  const BatchNormParams params{.relu = true, .shortcut = true, .projection = true};
  const BatchNormParams apart{.relu = true, .shortcut = true};
  for (const Shape& x : images()) {
    const BatchNormPairs of(x);
    // Old running values: beta and gamma of the other normalization.
    const auto other = run_on_emulation(
        of.forward({.x = x, .update = update},
                   {of.shortcut, of.other_gamma, of.other_beta, of.beta, of.gamma}, 4));
    const auto own = run_on_emulation(
        of.forward({x, apart, update},
                   {of.pixels, of.gamma, of.beta, other[0], of.other_beta, of.other_gamma}, 4));
    KernelPair both = of.forward({x, params, update},
                                 {of.pixels, of.gamma, of.beta, of.shortcut, of.other_gamma,
                                  of.other_beta, of.other_beta, of.other_gamma, of.beta, of.gamma},
                                 8);
    both.in_place = {{3, 0}, {6, 5}, {7, 6}, {8, 7}, {9, 8}};
    expect_same("batch_norm with a projection " + x.str(), both);
    EXPECT_EQ(run_on_emulation(both), (std::vector{own[0], own[1], own[2], other[1], other[2],
                                                   own[3], own[4], other[3], other[4]}));
    KernelPair inference =
        of.inference({x, params}, {of.pixels, of.gamma, of.beta, own[1], own[2], of.shortcut,
                                   of.other_gamma, of.other_beta, other[1], other[2]});
    inference.in_place.push_back({5, 0});
    expect_same("batch_norm_inference with a projection " + x.str(), inference);
    for (const bool of_sum : {false, true}) {
      std::vector<Bytes> inputs = {of.pixels, of.gamma, own[1], own[2], of.first, own[0]};
      KernelPair grad = of.backward({.x = x, .params = params, .of_sum = of_sum}, inputs);
      grad.inputs.insert(grad.inputs.end(), {of.shortcut, of.other_gamma, other[1], other[2]});
      grad.outputs.insert(grad.outputs.end(), {{x}, of.channels, of.channels});
      grad.in_place = {{4, 3}, {5, 0}};
      if (of_sum) {
        grad.in_place.insert(grad.in_place.end(), {{10, 3}, {10, 0}});
        grad.inputs.push_back(of.second);
        inputs.push_back(of.second);
      }
      expect_same("batch_norm_grad with a projection " + x.str(), grad);
      KernelPair of_own = of.backward({.x = x, .params = apart, .of_sum = of_sum}, inputs);
      of_own.outputs.push_back({x});
      auto parts = run_on_emulation(of_own);
      const auto of_other = run_on_emulation(
          of.backward({x}, {of.shortcut, of.other_gamma, other[1], other[2], parts[3]}));
      parts.pop_back();
      parts.insert(parts.end(), of_other.begin(), of_other.end());
      EXPECT_EQ(run_on_emulation(grad), parts);
    }
  }
}

TEST(ImageKernels, BatchNormUpdatesRunningValues) {
  const BatchNormProblem problem{
      {2, 67, 3, 3}, {}, RunningUpdate{.decay = 0.9f, .mean_gain = 0.1f, .variance_gain = 0.11f}};
  const TensorSpec channels{problem.channels()};
  expect_same("batch_norm",
              {.cpu = [=] { return make_batch_norm_cpu(problem); },
               .cuda = [=](CudaCompute& compute) { return make_batch_norm_cuda(compute, problem); },
               .inputs = {varied(problem.x, 5), random_operand(67, 1), random_operand(67, 2),
                          random_operand(67, 3), random_operand(67, 4)},
               .outputs = {{problem.x}, channels, channels, channels, channels},
               .in_place = {{3, 3}, {4, 4}},
               .tolerance = 5e-6});
}

TEST(ImageKernels, LocalResponseNormIsThatOfTheCpu) {
  const LocalResponseNormParams papers{.alpha = 0.02f};
  const LocalResponseNormParams wide{.size = 63, .k = 1, .alpha = 0.3f, .beta = 0.5f};
  const LocalResponseNormParams alone{.size = 1, .k = 1, .alpha = 0.3f, .beta = 1.5f};
  for (const auto& [pixels, channels] :
       {std::pair(1, 1), {7, 3}, {50, 96}, {9, 257}, {2, 1986}, {2, 4100}}) {
    for (const LocalResponseNormParams& params : {papers, wide, alone}) {
      const LocalResponseNormProblem problem{pixels, channels, params};
      const std::int64_t count = problem.pixels * problem.channels;
      expect_same("local_response_norm",
                  {.cpu = [=] { return make_local_response_norm_cpu(problem); },
                   .cuda =
                       [=](CudaCompute& compute) {
                         return make_local_response_norm_cuda(compute, problem);
                       },
                   .inputs = {random_operand(count, 1, -3, 3)},
                   .outputs = {{{count}}},
                   .in_place = {{0, 0}},
                   .tolerance = 1e-6});
      expect_same("local_response_norm_grad",
                  {.cpu = [=] { return make_local_response_norm_grad_cpu(problem); },
                   .cuda =
                       [=](CudaCompute& compute) {
                         return make_local_response_norm_grad_cuda(compute, problem);
                       },
                   .inputs = {random_operand(count, 1, -3, 3), random_operand(count, 2)},
                   .outputs = {{{count}}},
                   .in_place = {{1, 0}, {0, 0}},
                   .tolerance = 1e-6});
    }
  }
}

}  // namespace
}  // namespace skyline
