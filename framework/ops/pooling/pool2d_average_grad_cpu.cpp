#include <algorithm>
#include <vector>

#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/pooling/pool2d_runs.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Gathers: every pixel adds its share of each window that contains it, in the windows' order.
// oneDNN 2.6 scatters, more slowly and in an order that depends on the number of threads.
class AveragePool2dGradKernelCpu : public Kernel {
 public:
  explicit AveragePool2dGradKernelCpu(const Pool2dProblem& problem)
      : x_(problem.x),
        y_(problem.y),
        rows_(windows_of_pixels(row_axis(problem))),
        columns_(windows_of_pixels(column_axis(problem))) {
    for (const PoolRun& row : pixels_of_windows(row_axis(problem))) {
      for (const PoolRun& column : pixels_of_windows(column_axis(problem))) {
        parts_.push_back(1.0f / static_cast<float>(row.count * column.count));
      }
    }
  }

  void run(const KernelArguments& arguments) override {
    for_each_index(x_[0] * x_[2], x_.elements() >= kSerialTranscendental, [&](std::int64_t line) {
      const float* image = arguments.input<float>(0) + line / x_[2] * y_[1] * y_[2] * y_[3];
      const PoolRun& row = rows_[static_cast<std::size_t>(line % x_[2])];
      for (std::int64_t column = 0; column < x_[3]; ++column) {
        write_pixel(row, columns_[static_cast<std::size_t>(column)], image,
                    arguments.output<float>(0) + (line * x_[3] + column) * x_[1]);
      }
    });
  }

 private:
  void write_pixel(const PoolRun& row, const PoolRun& column, const float* grad_output,
                   float* grad_input) const {
    const std::int64_t channels = x_[1];
    if (row.count * column.count == 0) std::fill_n(grad_input, channels, 0.0f);
    for (int i = 0; i < row.count; ++i) {
      for (int j = 0; j < column.count; ++j) {
        const std::int64_t window = (row.first + i) * y_[3] + column.first + j;
        const float part = parts_[static_cast<std::size_t>(window)];
        const float* gradient = grad_output + window * channels;
        if (i + j == 0) {
#pragma omp simd
          for (std::int64_t c = 0; c < channels; ++c) grad_input[c] = part * gradient[c];
        } else {
#pragma omp simd
          for (std::int64_t c = 0; c < channels; ++c) grad_input[c] += part * gradient[c];
        }
      }
    }
  }

  Shape x_, y_;
  std::vector<PoolRun> rows_, columns_;
  std::vector<float> parts_;  // of each window: 1 / its pixels inside the image
};

}  // namespace

std::unique_ptr<Kernel> make_average_pool2d_grad_cpu(const Pool2dProblem& problem) {
  return std::make_unique<AveragePool2dGradKernelCpu>(problem);
}

}  // namespace skyline
