#include <algorithm>

#include "framework/ops/array/shortcut_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Both kernels walk over the pixels (n, row, column) that they write, C floats a pixel.
class ShortcutKernelCpu : public Kernel {
 public:
  explicit ShortcutKernelCpu(const ShortcutProblem& problem) : problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    const Shape &x = problem_.x, &y = problem_.y;
    const std::int64_t stride = problem_.stride;
    const float* input = arguments.input<float>(0);
    float* output = arguments.output<float>(0);
    for_each_index(y[0] * y[2], y.elements() >= kSerialArithmetic, [&](std::int64_t line) {
      const std::int64_t n = line / y[2], row = line % y[2];
      for (std::int64_t column = 0; column < y[3]; ++column) {
        const float* from = input + ((n * x[2] + row * stride) * x[3] + column * stride) * x[1];
        float* to = output + ((n * y[2] + row) * y[3] + column) * y[1];
        std::fill(std::copy_n(from, x[1], to), to + y[1], 0.0f);
      }
    });
  }

 private:
  ShortcutProblem problem_;
};

class ShortcutGradKernelCpu : public Kernel {
 public:
  explicit ShortcutGradKernelCpu(const ShortcutProblem& problem) : problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    const Shape &x = problem_.x, &y = problem_.y;
    const std::int64_t stride = problem_.stride;
    const float* grad_output = arguments.input<float>(0);
    float* grad_input = arguments.output<float>(0);
    for_each_index(x[0] * x[2], x.elements() >= kSerialArithmetic, [&](std::int64_t line) {
      const std::int64_t n = line / x[2], row = line % x[2];
      for (std::int64_t column = 0; column < x[3]; ++column) {
        float* to = grad_input + ((n * x[2] + row) * x[3] + column) * x[1];
        if (row % stride != 0 || column % stride != 0) {
          std::fill_n(to, x[1], 0.0f);
          continue;
        }
        const std::int64_t pixel = (n * y[2] + row / stride) * y[3] + column / stride;
        std::copy_n(grad_output + pixel * y[1], x[1], to);
      }
    });
  }

 private:
  ShortcutProblem problem_;
};

}  // namespace

std::unique_ptr<Kernel> make_shortcut_cpu(const ShortcutProblem& problem) {
  return std::make_unique<ShortcutKernelCpu>(problem);
}

std::unique_ptr<Kernel> make_shortcut_grad_cpu(const ShortcutProblem& problem) {
  return std::make_unique<ShortcutGradKernelCpu>(problem);
}

}  // namespace skyline
