#include "framework/ops/pooling/pool2d_small_max_cpu.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "framework/ops/pooling/pool2d_runs.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// An index that never won.
constexpr int kNoWindow = -1;

// A fixed number of pixels, so that the loop over channels unrolls and keeps all in registers.
template <int kSlots>
struct Slots {
  std::array<std::int64_t, kSlots> pixel;  // offset from the image's first pixel
  std::array<int, kSlots> index;           // in the window
};

// NaN wins, so that a failed training shows behind relu, too.
template <int kSlots, bool kArgmax>
void write_max(const Slots<kSlots>& window, const float* x, std::int64_t channels, bool relu,
               float* y, std::uint8_t* argmax) {
  std::array<const float*, kSlots> pixels;
  for (std::size_t k = 0; k < kSlots; ++k) pixels[k] = x + window.pixel[k] * channels;
  const std::array<int, kSlots> indices = window.index;
  const float least = relu ? 0 : -std::numeric_limits<float>::infinity();
  const int first = relu ? kNoPixel : indices[0];
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    float best = least;
    int winner = first;
#pragma GCC unroll 9
    for (std::size_t k = 0; k < kSlots; ++k) {
      const float value = pixels[k][c];
      const bool wins = value > best || std::isnan(value);
      winner = wins ? indices[k] : winner;
      best = wins ? value : best;
    }
    y[c] = best;
    if constexpr (kArgmax) argmax[c] = static_cast<std::uint8_t>(winner);
  }
}

template <int kSlots, bool kArgmax>
class SmallMaxPool2dKernelCpu : public Kernel {
 public:
  explicit SmallMaxPool2dKernelCpu(const Pool2dProblem& problem)
      : x_(problem.x),
        y_(problem.y),
        width_(problem.params.kernel.width),
        relu_(problem.params.relu),
        rows_(pixels_of_windows(row_axis(problem))),
        columns_(pixels_of_windows(column_axis(problem))) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(y_[0] * y_[2], y_.elements() >= kSerialTranscendental, [&](std::int64_t line) {
      const float* image = arguments.input<float>(0) + line / y_[2] * x_[1] * x_[2] * x_[3];
      const PoolRun& row = rows_[static_cast<std::size_t>(line % y_[2])];
      for (std::int64_t column = 0; column < y_[3]; ++column) {
        const std::int64_t at = (line * y_[3] + column) * y_[1];
        write_max<kSlots, kArgmax>(slots(row, columns_[static_cast<std::size_t>(column)]), image,
                                   x_[1], relu_, arguments.output<float>(0) + at,
                                   kArgmax ? arguments.output<std::uint8_t>(1) + at : nullptr);
      }
    });
  }

 private:
  // Returns the window's pixels row by row, the last one repeated: it never beats itself.
  Slots<kSlots> slots(const PoolRun& row, const PoolRun& column) const {
    Slots<kSlots> window;
    std::size_t k = 0;
    for (int i = 0; i < row.count; ++i) {
      for (int j = 0; j < column.count; ++j, ++k) {
        window.pixel[k] = (row.first + i) * x_[3] + column.first + j;
        window.index[k] = (row.index + i) * width_ + column.index + j;
      }
    }
    for (; k < kSlots; ++k) {
      window.pixel[k] = window.pixel[k - 1];
      window.index[k] = window.index[k - 1];
    }
    return window;
  }

  Shape x_, y_;
  int width_;  // of a window
  bool relu_;
  std::vector<PoolRun> rows_, columns_;
};

template <int kSlots>
void write_gradient(const Slots<kSlots>& windows, const std::uint8_t* argmax,
                    const float* grad_output, std::int64_t channels, float* grad_input) {
  std::array<const std::uint8_t*, kSlots> winners;
  std::array<const float*, kSlots> gradients;
  for (std::size_t k = 0; k < kSlots; ++k) {
    winners[k] = argmax + windows.pixel[k] * channels;
    gradients[k] = grad_output + windows.pixel[k] * channels;
  }
  const std::array<int, kSlots> indices = windows.index;
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    float sum = 0;
#pragma GCC unroll 9
    for (std::size_t k = 0; k < kSlots; ++k) {
      const float gradient = gradients[k][c];
      sum += winners[k][c] == indices[k] ? gradient : 0.0f;
    }
    grad_input[c] = sum;
  }
}

// Gathers: every pixel adds what its windows give it, so that none is written twice.
template <int kSlots>
class SmallMaxPool2dGradKernelCpu : public Kernel {
 public:
  explicit SmallMaxPool2dGradKernelCpu(const Pool2dProblem& problem)
      : x_(problem.x),
        y_(problem.y),
        width_(problem.params.kernel.width),
        stride_(problem.params.stride),
        rows_(windows_of_pixels(row_axis(problem))),
        columns_(windows_of_pixels(column_axis(problem))) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(x_[0] * x_[2], x_.elements() >= kSerialTranscendental, [&](std::int64_t line) {
      const std::int64_t image = line / x_[2] * y_[1] * y_[2] * y_[3];
      const PoolRun& row = rows_[static_cast<std::size_t>(line % x_[2])];
      for (std::int64_t column = 0; column < x_[3]; ++column) {
        write_gradient<kSlots>(slots(row, columns_[static_cast<std::size_t>(column)]),
                               arguments.input<std::uint8_t>(0) + image,
                               arguments.input<float>(1) + image, x_[1],
                               arguments.output<float>(0) + (line * x_[3] + column) * x_[1]);
      }
    });
  }

 private:
  // Returns the windows that contain the pixel, then the first window with kNoWindow.
  Slots<kSlots> slots(const PoolRun& row, const PoolRun& column) const {
    Slots<kSlots> windows;
    std::size_t k = 0;
    for (int i = 0; i < row.count; ++i) {
      for (int j = 0; j < column.count; ++j, ++k) {
        windows.pixel[k] = (row.first + i) * y_[3] + column.first + j;
        windows.index[k] =
            (row.index - i * stride_.height) * width_ + column.index - j * stride_.width;
      }
    }
    for (; k < kSlots; ++k) {
      windows.pixel[k] = 0;
      windows.index[k] = kNoWindow;
    }
    return windows;
  }

  Shape x_, y_;
  int width_;  // of a window
  Size2d stride_;
  std::vector<PoolRun> rows_, columns_;
};

template <int kSlots>
std::unique_ptr<Kernel> make(const Pool2dProblem& problem, bool argmax) {
  if (argmax) return std::make_unique<SmallMaxPool2dKernelCpu<kSlots, true>>(problem);
  return std::make_unique<SmallMaxPool2dKernelCpu<kSlots, false>>(problem);
}

}  // namespace

bool is_small_max_pool2d(const Pool2dProblem& problem) { return problem.params.kernel.area() <= 9; }

std::unique_ptr<Kernel> make_small_max_pool2d_cpu(const Pool2dProblem& problem, bool argmax) {
  return problem.params.kernel.area() <= 4 ? make<4>(problem, argmax) : make<9>(problem, argmax);
}

std::unique_ptr<Kernel> make_small_max_pool2d_grad_cpu(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  const int windows = ((kernel.height + stride.height - 1) / stride.height) *
                      ((kernel.width + stride.width - 1) / stride.width);
  if (windows == 1) return std::make_unique<SmallMaxPool2dGradKernelCpu<1>>(problem);
  if (windows <= 4) return std::make_unique<SmallMaxPool2dGradKernelCpu<4>>(problem);
  return std::make_unique<SmallMaxPool2dGradKernelCpu<9>>(problem);
}

}  // namespace skyline
