#include <algorithm>

#include "framework/ops/math/arithmetic_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Masks and scales block by block in a buffer on the stack, so that outputs may be inputs.
class AddScaledGradKernelCpu : public Kernel {
 public:
  AddScaledGradKernelCpu(std::int64_t elements, AddScaledGradients gradients)
      : elements_(elements), gradients_(gradients) {}

  void run(const KernelArguments& arguments) override {
    const std::int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    for_each_index(blocks, elements_ >= kSerialArithmetic, [&](std::int64_t block) {
      const std::int64_t begin = block * kBlock;
      run_block(arguments, begin, std::min(kBlock, elements_ - begin));
    });
  }

 private:
  static constexpr std::int64_t kBlock = 1024;  // 4 KiB stay in the first-level cache

  void run_block(const KernelArguments& arguments, std::int64_t begin, std::int64_t count) const {
    const float* grad_output = arguments.input<float>(0) + begin;
    float masked[kBlock];
    if (gradients_.params.relu) {
      const float* y = arguments.input<float>(1) + begin;
      for (std::int64_t i = 0; i < count; ++i) masked[i] = ReluGradFunction{}(grad_output[i], y[i]);
      grad_output = masked;
    }
    if (gradients_.residual) {
      float* grad_residual = arguments.output<float>(gradients_.x ? 1 : 0) + begin;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        grad_residual[i] = gradients_.params.scale * grad_output[i];
      }
    }
    if (gradients_.x) std::copy_n(grad_output, count, arguments.output<float>(0) + begin);
  }

  std::int64_t elements_;
  AddScaledGradients gradients_;
};

// Sums block by block in a buffer on the stack, so that the output may be any input.
class SumKernelCpu : public Kernel {
 public:
  SumKernelCpu(std::int64_t elements, int inputs) : elements_(elements), inputs_(inputs) {}

  void run(const KernelArguments& arguments) override {
    const std::int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    for_each_index(blocks, elements_ >= kSerialArithmetic, [&](std::int64_t block) {
      const std::int64_t begin = block * kBlock;
      sum_block(arguments, begin, std::min(kBlock, elements_ - begin));
    });
  }

 private:
  static constexpr std::int64_t kBlock = 1024;  // 4 KiB stay in the first-level cache

  void sum_block(const KernelArguments& arguments, std::int64_t begin, std::int64_t count) const {
    float total[kBlock];
    std::copy_n(arguments.input<float>(0) + begin, count, total);
    for (int k = 1; k < inputs_; ++k) {
      const float* input = arguments.input<float>(static_cast<std::size_t>(k)) + begin;
      for (std::int64_t i = 0; i < count; ++i) total[i] += input[i];
    }
    std::copy_n(total, count, arguments.output<float>(0) + begin);
  }

  std::int64_t elements_;
  int inputs_;
};

class FillKernelCpu : public Kernel {
 public:
  FillKernelCpu(std::int64_t elements, float value) : elements_(elements), value_(value) {}

  void run(const KernelArguments& arguments) override {
    float* const output = arguments.output<float>(0);
    for_each_range(elements_, elements_ >= kSerialArithmetic, kVectors,
                   [&](auto begin, auto end) { std::fill(output + begin, output + end, value_); });
  }

 private:
  std::int64_t elements_;
  float value_;
};

}  // namespace

std::unique_ptr<Kernel> make_add_scaled_cpu(std::int64_t elements, AddScaledParams params) {
  if (params.relu) {
    return make_elementwise_cpu<2>(elements, kSerialArithmetic,
                                   AddScaledReluFunction{params.scale});
  }
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, AddScaledFunction{params.scale});
}

std::unique_ptr<Kernel> make_add_scaled_grad_cpu(std::int64_t elements,
                                                 AddScaledGradients gradients) {
  return std::make_unique<AddScaledGradKernelCpu>(elements, gradients);
}

std::unique_ptr<Kernel> make_sum_cpu(std::int64_t elements, int inputs) {
  return std::make_unique<SumKernelCpu>(elements, inputs);
}

std::unique_ptr<Kernel> make_fill_cpu(std::int64_t elements, float value) {
  return std::make_unique<FillKernelCpu>(elements, value);
}

}  // namespace skyline
