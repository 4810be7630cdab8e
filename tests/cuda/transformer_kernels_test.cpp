#include <gtest/gtest.h>

#include "framework/compute.h"
#include "framework/ops/attention/attention_kernels.h"
#include "framework/ops/normalization/normalization_kernels.h"
#include "tests/cuda/kernel_pair.h"

namespace skyline {
namespace {

TEST(TransformerKernels, LayerNormIsThatOfTheCpu) {
  for (const Shape& x : {Shape{1, 3}, Shape{3, 5}, Shape{130, 70}, Shape{4, 600}}) {
    for (const bool bias : {false, true}) {
      const LayerNormProblem problem{x[0], x[1], 1e-5f, bias};
      const std::int64_t rows = x[0], channels = x[1];
      KernelPair forward{
          .cpu = [=] { return make_layer_norm_cpu(problem); },
          .cuda = [=](CudaCompute& compute) { return make_layer_norm_cuda(compute, problem); },
          .inputs = {random_operand(x.elements(), 1), random_operand(channels, 2, 0.5f, 2)},
          .outputs = {{x}, {{rows}}, {{rows}}},
          .in_place = {{0, 0}},
          .tolerance = 2e-6};
      if (bias) forward.inputs.push_back(random_operand(channels, 3));
      expect_same("layer_norm " + x.str(), forward);
      const std::vector<Bytes> outputs = run_on_emulation(forward);
      KernelPair backward{
          .cpu = [=] { return make_layer_norm_grad_cpu(problem); },
          .cuda = [=](CudaCompute& compute) { return make_layer_norm_grad_cuda(compute, problem); },
          .inputs = {forward.inputs[0], forward.inputs[1], outputs[1], outputs[2],
                     random_operand(x.elements(), 4)},
          .outputs = {{x}, {{channels}}},
          .in_place = {{4, 0}},
          .tolerance = 2e-6};
      if (bias) backward.outputs.push_back({{channels}});
      expect_same("layer_norm_grad " + x.str(), backward);
    }
  }
}

TEST(TransformerKernels, AttentionIsThatOfTheCpu) {
  for (const AttentionProblem& problem : {AttentionProblem{1, 1, 1, 1},
                                          {2, 5, 3, 4},
                                          {1, 32, 1, 32},
                                          {2, 33, 2, 40},
                                          {1, 70, 1, 7}}) {
    const KernelPair forward{
        .cpu = [=] { return make_attention_cpu({}, problem); },
        .cuda = [=](CudaCompute& compute) { return make_attention_cuda(compute, problem); },
        .inputs = {random_operand(problem.qkv().elements(), 1)},
        .outputs = {{problem.y()}, {problem.logarithms()}},
        .tolerance = 2e-6};
    expect_same("attention " + problem.qkv().str(), forward);
    const std::vector<Bytes> outputs = run_on_emulation(forward);
    expect_same(
        "attention_grad " + problem.qkv().str(),
        {.cpu = [=] { return make_attention_grad_cpu({}, problem); },
         .cuda = [=](CudaCompute& compute) { return make_attention_grad_cuda(compute, problem); },
         .inputs = {forward.inputs[0], outputs[0], outputs[1],
                    random_operand(problem.y().elements(), 2)},
         .outputs = {{problem.qkv()}},
         .in_place = {{0, 0}},
         .tolerance = 3e-6});
  }
}

}  // namespace
}  // namespace skyline
