#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// One axis of a pooling.
struct PoolAxis {
  std::int64_t image, windows;
  int kernel, stride, padding;
};

// A range along one axis: `count` places from `first` on.
struct PoolRun {
  std::int64_t first = 0;
  int count = 0;
  int index = 0;  // the (first) pixel's index in its window
};

PoolAxis row_axis(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  return {problem.x[2], problem.y[2], kernel.height, stride.height, padding.height};
}

PoolAxis column_axis(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  return {problem.x[3], problem.y[3], kernel.width, stride.width, padding.width};
}

// Returns each window's pixels inside the image; their indices increase by 1.
std::vector<PoolRun> pixels_of_windows(const PoolAxis& axis) {
  std::vector<PoolRun> runs;
  for (std::int64_t window = 0; window < axis.windows; ++window) {
    const std::int64_t begin = window * axis.stride - axis.padding;
    const std::int64_t first = std::max<std::int64_t>(0, begin);
    const std::int64_t end = std::min(axis.image, begin + axis.kernel);
    runs.push_back({first, static_cast<int>(end - first), static_cast<int>(first - begin)});
  }
  return runs;
}

// Returns the windows that contain each pixel; their indices decrease by the stride.
std::vector<PoolRun> windows_of_pixels(const PoolAxis& axis) {
  std::vector<PoolRun> runs(static_cast<std::size_t>(axis.image));
  const std::vector<PoolRun> pixels = pixels_of_windows(axis);
  for (std::int64_t window = 0; window < axis.windows; ++window) {
    const PoolRun& inside = pixels[static_cast<std::size_t>(window)];
    for (int i = 0; i < inside.count; ++i) {
      PoolRun& run = runs[static_cast<std::size_t>(inside.first + i)];
      if (run.count == 0) run = {window, 0, inside.index + i};
      ++run.count;
    }
  }
  return runs;
}

// Kernels of max pooling with windows of at most 9 pixels, the size all our networks use. They
// vectorize over channels; kernels_benchmark --benchmark_filter=pool times them. That NaN wins a
// window takes 10 to 35 % of forward's time.

// An index that never won.
constexpr int kNoWindow = -1;

// A fixed number of pixels, so that the loop over channels unrolls and keeps all in registers.
template <int kSlots>
struct Slots {
  std::array<std::int64_t, kSlots> pixel;  // offset from the image's first pixel
  std::array<int, kSlots> index;           // in the window
};

// A place of few channels is computed with what follows in its line, in whole vectors. Places are
// written from left to right, so those that follow get their own values afterwards.
constexpr std::int64_t kVectorChannels = 16;

// Returns how many channels a loop may take from a place's first, which has `written` floats of its
// line from there on. The images that it reads end `readable` floats behind the last pixel that it
// reads.
std::int64_t loop_channels(std::int64_t channels, std::int64_t written, std::int64_t readable) {
  const std::int64_t whole = (channels + kVectorChannels - 1) / kVectorChannels * kVectorChannels;
  return whole <= std::min(written, readable) ? whole : channels;
}

// NaN wins, so that a failed training shows behind relu, too. `count` is loop_channels().
template <int kSlots, bool kArgmax>
void write_max(const Slots<kSlots>& window, const float* x, std::int64_t channels,
               std::int64_t count, bool relu, float* y, std::uint8_t* argmax) {
  std::array<const float*, kSlots> pixels;
  for (std::size_t k = 0; k < kSlots; ++k) pixels[k] = x + window.pixel[k] * channels;
  const std::array<int, kSlots> indices = window.index;
  const float least = relu ? 0 : -std::numeric_limits<float>::infinity();
  const int first = relu ? kNoPixel : indices[0];
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c) {
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
      const std::int64_t channels = x_[1], image = line / y_[2] * x_[2] * x_[3];
      const PoolRun& row = rows_[static_cast<std::size_t>(line % y_[2])];
      Slots<kSlots> window;
      PoolRun like;  // the column that `window` was made for
      for (std::int64_t column = 0; column < y_[3]; ++column) {
        const std::int64_t at = (line * y_[3] + column) * channels;
        const PoolRun& run = columns_[static_cast<std::size_t>(column)];
        if (run.count != like.count || run.index != like.index) {
          window = slots(row, run);
          like = run;
        }
        const std::int64_t beside = run.first - like.first, last = beside + window.pixel.back();
        const std::int64_t count =
            loop_channels(channels, (y_[3] - column) * channels, (x_[2] * x_[3] - last) * channels);
        write_max<kSlots, kArgmax>(window, arguments.input<float>(0) + (image + beside) * channels,
                                   channels, count, relu_, arguments.output<float>(0) + at,
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
                    const float* grad_output, std::int64_t channels, std::int64_t count,
                    float* grad_input) {
  std::array<const std::uint8_t*, kSlots> winners;
  std::array<const float*, kSlots> gradients;
  for (std::size_t k = 0; k < kSlots; ++k) {
    winners[k] = argmax + windows.pixel[k] * channels;
    gradients[k] = grad_output + windows.pixel[k] * channels;
  }
  const std::array<int, kSlots> indices = windows.index;
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c) {
    float sum = 0;
#pragma GCC unroll 9
    for (std::size_t k = 0; k < kSlots; ++k) {
      // A mask of bits: g++ 12 makes a branch of a choice between the gradient and 0.
      const int mask = -static_cast<int>(winners[k][c] == indices[k]);
      sum += std::bit_cast<float>(std::bit_cast<int>(gradients[k][c]) & mask);
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
        const Slots<kSlots> windows = slots(row, columns_[static_cast<std::size_t>(column)]);
        const std::int64_t count =
            loop_channels(x_[1], (x_[3] - column) * x_[1],
                          (y_[2] * y_[3] - std::ranges::max(windows.pixel)) * y_[1]);
        write_gradient<kSlots>(windows, arguments.input<std::uint8_t>(0) + image,
                               arguments.input<float>(1) + image, x_[1], count,
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

// Windows that share no pixel give theirs all they have, pixel by pixel.
class ApartMaxPool2dGradKernelCpu : public Kernel {
 public:
  explicit ApartMaxPool2dGradKernelCpu(const Pool2dProblem& problem)
      : x_(problem.x),
        y_(problem.y),
        width_(problem.params.kernel.width),
        covers_(covers(row_axis(problem)) && covers(column_axis(problem))),
        rows_(pixels_of_windows(row_axis(problem))),
        columns_(pixels_of_windows(column_axis(problem))) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(y_[0] * y_[2], x_.elements() >= kSerialTranscendental, [&](std::int64_t line) {
      const std::int64_t image = line / y_[2], at = line % y_[2], row_floats = x_[3] * x_[1];
      float* const grad_input = arguments.output<float>(0) + image * x_[2] * row_floats;
      const PoolRun& row = rows_[static_cast<std::size_t>(at)];
      if (!covers_) {
        const std::int64_t begin = at == 0 ? 0 : row.first;
        const std::int64_t end =
            at + 1 == y_[2] ? x_[2] : rows_[static_cast<std::size_t>(at + 1)].first;
        std::fill(grad_input + begin * row_floats, grad_input + end * row_floats, 0.0f);
      }
      const std::int64_t first = line * y_[3] * y_[1];
      for (int i = 0; i < row.count; ++i) {
        write_row((row.index + i) * width_, arguments.input<std::uint8_t>(0) + first,
                  arguments.input<float>(1) + first, grad_input + (row.first + i) * row_floats);
      }
    });
  }

 private:
  // Writes a row of pixels, whose first one is pixel `index` of its window.
  void write_row(int index, const std::uint8_t* argmax, const float* grad_output,
                 float* grad_input) const {
    const std::int64_t channels = x_[1];
    for (std::int64_t column = 0; column < y_[3]; ++column) {
      const PoolRun& run = columns_[static_cast<std::size_t>(column)];
      for (int j = 0; j < run.count; ++j) {
        const std::int64_t pixel = run.first + j;
        const std::int64_t count = loop_channels(channels, covers_ ? (x_[3] - pixel) * channels : 0,
                                                 (y_[3] - column) * channels);
        write_pixel(index + run.index + j, argmax + column * channels,
                    grad_output + column * channels, count, grad_input + pixel * channels);
      }
    }
  }

  static bool covers(const PoolAxis& axis) {
    return axis.padding == 0 && axis.windows * axis.kernel == axis.image;
  }

  static void write_pixel(int index, const std::uint8_t* argmax, const float* grad_output,
                          std::int64_t count, float* grad_input) {
#pragma omp simd
    for (std::int64_t c = 0; c < count; ++c) {
      const int mask = -static_cast<int>(argmax[c] == index);
      grad_input[c] = std::bit_cast<float>(std::bit_cast<int>(grad_output[c]) & mask);
    }
  }

  Shape x_, y_;
  int width_;    // of a window
  bool covers_;  // the windows have all pixels
  std::vector<PoolRun> rows_, columns_;
};

template <int kSlots>
std::unique_ptr<Kernel> make_small_max(const Pool2dProblem& problem) {
  if (problem.indices) return std::make_unique<SmallMaxPool2dKernelCpu<kSlots, true>>(problem);
  return std::make_unique<SmallMaxPool2dKernelCpu<kSlots, false>>(problem);
}

bool is_small(const Pool2dProblem& problem) { return problem.params.kernel.area() <= 9; }

std::unique_ptr<Kernel> make_small_max(const Pool2dProblem& problem) {
  return problem.params.kernel.area() <= 4 ? make_small_max<4>(problem)
                                           : make_small_max<9>(problem);
}

std::unique_ptr<Kernel> make_small_max_grad(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  const int windows = ((kernel.height + stride.height - 1) / stride.height) *
                      ((kernel.width + stride.width - 1) / stride.width);
  if (windows == 1) return std::make_unique<ApartMaxPool2dGradKernelCpu>(problem);
  if (windows <= 4) return std::make_unique<SmallMaxPool2dGradKernelCpu<4>>(problem);
  return std::make_unique<SmallMaxPool2dGradKernelCpu<9>>(problem);
}

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

using dnnl::memory;

// Windows as oneDNN expects them. It derives the number of windows from the padding at the far
// edge, so that padding is set to exactly how far the last window exceeds the image.
struct PoolWindows {
  explicit PoolWindows(const Pool2dProblem& problem)
      : kernel{problem.params.kernel.height, problem.params.kernel.width},
        strides{problem.params.stride.height, problem.params.stride.width},
        padding{problem.params.padding.height, problem.params.padding.width} {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int tensor_axis = static_cast<int>(axis) + 2;
      const std::int64_t last_end = (problem.y[tensor_axis] - 1) * strides[axis] + kernel[axis];
      far_padding.push_back(last_end - problem.x[tensor_axis] - padding[axis]);
    }
  }
  memory::dims kernel, strides, padding, far_padding;
};

// In inference oneDNN keeps no argmax.
dnnl::pooling_forward::primitive_desc describe(
    const Pool2dProblem& problem, dnnl::algorithm algorithm,
    dnnl::prop_kind kind = dnnl::prop_kind::forward_training) {
  const PoolWindows windows(problem);
  const dnnl::pooling_forward::desc description(
      kind, algorithm, dnnl_layout(problem.x), dnnl_layout(problem.y), windows.strides,
      windows.kernel, windows.padding, windows.far_padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine()};
}

dnnl::pooling_backward::primitive_desc describe_max_grad(const Pool2dProblem& problem) {
  const auto algorithm = dnnl::algorithm::pooling_max;
  const PoolWindows windows(problem);
  const dnnl::pooling_backward::desc description(
      algorithm, dnnl_layout(problem.x), dnnl_layout(problem.y), windows.strides, windows.kernel,
      windows.padding, windows.far_padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem, algorithm)};
}

// Returns oneDNN's layout of the argmax. The op declared that tensor without asking the library, so
// the two are compared.
memory::desc argmax_layout(const Pool2dProblem& problem, const dnnl::primitive_desc& descriptor) {
  const TensorSpec argmax = problem.argmax();
  const auto type = argmax.dtype == DType::kUint8 ? memory::data_type::u8 : memory::data_type::s32;
  const memory::desc layout = dnnl_layout(argmax.shape, type);
  if (descriptor.workspace_desc() != layout) {
    throw std::logic_error("[max_pool2d] oneDNN keeps another argmax than " + argmax.str());
  }
  return layout;
}

// Input x; output y.
std::unique_ptr<DnnlKernel> make_forward(const dnnl::pooling_forward::primitive_desc& descriptor) {
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor, {{DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
                            {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())}});
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool2d_cpu(const Pool2dProblem& problem) {
  if (is_small(problem)) return make_small_max(problem);
  const auto algorithm = dnnl::algorithm::pooling_max;
  if (!problem.indices) {
    return make_forward(describe(problem, algorithm, dnnl::prop_kind::forward_inference));
  }
  const auto descriptor = describe(problem, algorithm);
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor,
               {{DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
                {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())},
                {DNNL_ARG_WORKSPACE, kernel->output(1, argmax_layout(problem, descriptor))}});
  return kernel;
}

std::unique_ptr<Kernel> make_max_pool2d_grad_cpu(const Pool2dProblem& problem) {
  if (is_small(problem)) return make_small_max_grad(problem);
  const auto descriptor = describe_max_grad(problem);
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor,
               {{DNNL_ARG_WORKSPACE, kernel->input(0, argmax_layout(problem, descriptor))},
                {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
                {DNNL_ARG_DIFF_SRC, kernel->output(0, descriptor.diff_src_desc())}});
  return kernel;
}

std::unique_ptr<Kernel> make_average_pool2d_cpu(const Pool2dProblem& problem) {
  return make_forward(describe(problem, dnnl::algorithm::pooling_avg_exclude_padding));
}

std::unique_ptr<Kernel> make_average_pool2d_grad_cpu(const Pool2dProblem& problem) {
  return std::make_unique<AveragePool2dGradKernelCpu>(problem);
}

}  // namespace skyline
