#include <algorithm>
#include <numeric>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// The place of one part in each row of the joined tensor.
struct Slice {
  std::int64_t offset = 0;
  std::int64_t width = 0;
};

std::vector<Slice> slices_of(const ConcatLayout& layout) {
  std::vector<Slice> slices;
  std::int64_t offset = 0;
  for (const std::int64_t width : layout.widths) {
    slices.push_back({offset, width});
    offset += width;
  }
  return slices;
}

std::int64_t joined_width(const ConcatLayout& layout) {
  return std::accumulate(layout.widths.begin(), layout.widths.end(), std::int64_t{0});
}

// to[i] = function(i) for one row of a slice: a few vectors, too short for memcpy to pay.
template <typename Function>
void write_row(float* to, std::int64_t width, const Function& function) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) to[i] = function(i);
}

class ConcatKernelCpu : public Kernel {
 public:
  ConcatKernelCpu(const ConcatLayout& layout, bool relu)
      : rows_(layout.rows), width_(joined_width(layout)), relu_(relu), slices_(slices_of(layout)) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      float* joined = arguments.output<float>(0) + row * width_;
      for (std::size_t i = 0; i < slices_.size(); ++i) {
        const auto [offset, width] = slices_[i];
        const float* part = arguments.input<float>(i) + row * width;
        if (relu_) {
          write_row(joined + offset, width,
                    [=](std::int64_t c) { return ReluFunction{}(part[c]); });
        } else {
          write_row(joined + offset, width, [=](std::int64_t c) { return part[c]; });
        }
      }
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  bool relu_;
  std::vector<Slice> slices_;
};

class ConcatGradKernelCpu : public Kernel {
 public:
  ConcatGradKernelCpu(const ConcatLayout& layout, bool relu, const std::vector<bool>& needed)
      : rows_(layout.rows), width_(joined_width(layout)), relu_(relu) {
    const std::vector<Slice> all = slices_of(layout);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (needed[i]) slices_.push_back(all[i]);
    }
  }

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      for (std::size_t j = 0; j < slices_.size(); ++j) {
        const auto [offset, width] = slices_[j];
        const std::int64_t at = row * width_ + offset;
        const float* joined = arguments.input<float>(0) + at;
        float* part = arguments.output<float>(j) + row * width;
        if (relu_) {
          const float* y = arguments.input<float>(1) + at;
          write_row(part, width,
                    [=](std::int64_t c) { return ReluGradFunction{}(joined[c], y[c]); });
        } else {
          write_row(part, width, [=](std::int64_t c) { return joined[c]; });
        }
      }
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  bool relu_;
  std::vector<Slice> slices_;
};

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

std::unique_ptr<Kernel> make_concat_cpu(const ConcatLayout& layout, bool relu) {
  return std::make_unique<ConcatKernelCpu>(layout, relu);
}

std::unique_ptr<Kernel> make_concat_grad_cpu(const ConcatLayout& layout, bool relu,
                                             const std::vector<bool>& needed) {
  return std::make_unique<ConcatGradKernelCpu>(layout, relu, needed);
}

std::unique_ptr<Kernel> make_shortcut_cpu(const ShortcutProblem& problem) {
  return std::make_unique<ShortcutKernelCpu>(problem);
}

std::unique_ptr<Kernel> make_shortcut_grad_cpu(const ShortcutProblem& problem) {
  return std::make_unique<ShortcutGradKernelCpu>(problem);
}

}  // namespace skyline
