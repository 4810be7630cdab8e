#include <algorithm>

#include "framework/ops/math/arithmetic_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Calls body(begin, count) for blocks that together are [0, elements). Where outputs may be any
// inputs, a body collects its results on the stack: 4 KiB stay in the first-level cache.
constexpr std::int64_t kStackFloats = 1024;
template <typename Body>
void for_each_block(std::int64_t elements, const Body& body) {
  const std::int64_t blocks = (elements + kStackFloats - 1) / kStackFloats;
  for_each_index(blocks, elements >= kSerialArithmetic, [&](std::int64_t block) {
    const std::int64_t begin = block * kStackFloats;
    body(begin, std::min(kStackFloats, elements - begin));
  });
}

void write_add_scaled_grad(const AddScaledGradients& gradients, const KernelArguments& arguments,
                           std::int64_t begin, std::int64_t count) {
  const float* grad_output = arguments.input<float>(0) + begin;
  float masked[kStackFloats];
  if (gradients.params.relu) {
    const float* y = arguments.input<float>(1) + begin;
    for (std::int64_t i = 0; i < count; ++i) masked[i] = ReluGradFunction{}(grad_output[i], y[i]);
    grad_output = masked;
  }
  if (gradients.residual) {
    float* grad_residual = arguments.output<float>(gradients.x ? 1 : 0) + begin;
    const float scale = gradients.params.scale;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) grad_residual[i] = scale * grad_output[i];
  }
  if (gradients.x) std::copy_n(grad_output, count, arguments.output<float>(0) + begin);
}

void write_sum(int inputs, const KernelArguments& arguments, std::int64_t begin,
               std::int64_t count) {
  float total[kStackFloats];
  std::copy_n(arguments.input<float>(0) + begin, count, total);
  for (int k = 1; k < inputs; ++k) {
    const float* input = arguments.input<float>(static_cast<std::size_t>(k)) + begin;
    for (std::int64_t i = 0; i < count; ++i) total[i] += input[i];
  }
  std::copy_n(total, count, arguments.output<float>(0) + begin);
}

}  // namespace

std::unique_ptr<Kernel> make_add_scaled_cpu(std::int64_t elements, AddScaledParams params) {
  if (params.relu) {
    return make_elementwise_cpu(elements, kSerialArithmetic, AddScaledReluFunction{params.scale});
  }
  return make_elementwise_cpu(elements, kSerialArithmetic, AddScaledFunction{params.scale});
}

std::unique_ptr<Kernel> make_add_scaled_grad_cpu(const AddScaledGradients& gradients) {
  return make_kernel([=](const KernelArguments& arguments) {
    for_each_block(gradients.elements, [&](std::int64_t begin, std::int64_t count) {
      write_add_scaled_grad(gradients, arguments, begin, count);
    });
  });
}

std::unique_ptr<Kernel> make_sum_cpu(std::int64_t elements, int inputs) {
  return make_kernel([=](const KernelArguments& arguments) {
    for_each_block(elements, [&](std::int64_t begin, std::int64_t count) {
      write_sum(inputs, arguments, begin, count);
    });
  });
}

std::unique_ptr<Kernel> make_fill_cpu(std::int64_t elements, float value) {
  return make_kernel([=](const KernelArguments& arguments) {
    float* const output = arguments.output<float>(0);
    for_each_range(elements, elements >= kSerialArithmetic, kVectors,
                   [&](auto begin, auto end) { std::fill(output + begin, output + end, value); });
  });
}

}  // namespace skyline
