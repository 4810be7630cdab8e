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

}  // namespace

std::unique_ptr<Kernel> make_concat_cpu(const ConcatProblem& problem) {
  return make_kernel([rows = problem.layout.rows, joined_width = joined_width(problem.layout),
                      relu = problem.relu,
                      slices = slices_of(problem.layout)](const KernelArguments& arguments) {
    for_each_index(rows, rows * joined_width >= kSerialArithmetic, [&](std::int64_t row) {
      float* joined = arguments.output<float>(0) + row * joined_width;
      for (std::size_t i = 0; i < slices.size(); ++i) {
        const auto [offset, width] = slices[i];
        const float* part = arguments.input<float>(i) + row * width;
        if (relu) {
          write_row(joined + offset, width,
                    [=](std::int64_t c) { return ReluFunction{}(part[c]); });
        } else {
          write_row(joined + offset, width, [=](std::int64_t c) { return part[c]; });
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_concat_grad_cpu(const ConcatProblem& problem) {
  std::vector<Slice> slices;
  const std::vector<Slice> all = slices_of(problem.layout);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (problem.needed[i]) slices.push_back(all[i]);
  }
  return make_kernel([rows = problem.layout.rows, joined_width = joined_width(problem.layout),
                      relu = problem.relu, slices](const KernelArguments& arguments) {
    for_each_index(rows, rows * joined_width >= kSerialArithmetic, [&](std::int64_t row) {
      for (std::size_t j = 0; j < slices.size(); ++j) {
        const auto [offset, width] = slices[j];
        const std::int64_t at = row * joined_width + offset;
        const float* joined = arguments.input<float>(0) + at;
        float* part = arguments.output<float>(j) + row * width;
        if (relu) {
          const float* y = arguments.input<float>(1) + at;
          write_row(part, width,
                    [=](std::int64_t c) { return ReluGradFunction{}(joined[c], y[c]); });
        } else {
          write_row(part, width, [=](std::int64_t c) { return joined[c]; });
        }
      }
    });
  });
}

// Both kernels of a shortcut walk over the pixels (n, row, column) that they write, C floats a
// pixel.
std::unique_ptr<Kernel> make_shortcut_cpu(const ShortcutProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const Shape &x = problem.x, &y = problem.y;
    const std::int64_t stride = problem.stride;
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
  });
}

std::unique_ptr<Kernel> make_shortcut_grad_cpu(const ShortcutProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const Shape &x = problem.x, &y = problem.y;
    const std::int64_t stride = problem.stride;
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
  });
}

}  // namespace skyline
