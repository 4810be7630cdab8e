#include <algorithm>

#include "framework/ops/channel_tiles_cuda.h"
#include "framework/ops/images_cuda.h"
#include "framework/ops/pool2d_kernels.h"
#include "framework/ops/vectors_cuda.h"

// Every thread writes kWidth channels of one pixel and gathers what they come from: nothing is
// written twice, and neighbouring windows find their pixels in the cache.

namespace skyline {
namespace {

// Neighbours along one axis: those from `first` on and below `end`.
struct Run {
  int first, end;
};

struct WindowAxis {
  WindowAxis(std::int64_t image_in, std::int64_t windows_in, int kernel_in, int stride_in,
             int padding_in)
      : image(static_cast<int>(image_in)),
        windows(static_cast<int>(windows_in)),
        kernel(kernel_in),
        stride(stride_in),
        padding(padding_in),
        by_stride(stride_in) {}

  // Where a window begins; maybe before the image.
  __device__ int begin(int window) const { return window * stride - padding; }
  // Its pixels inside the image.
  __device__ Run pixels(int window) const {
    const int first = begin(window), last = first + kernel;
    return {first < 0 ? 0 : first, last < image ? last : image};
  }
  // The windows that hold a pixel.
  __device__ Run windows_of(int pixel) const {
    const int past = pixel + padding - kernel;  // beyond it the first one begins
    const int first = past < 0 ? 0 : static_cast<int>(by_stride(past).quotient) + 1;
    const int last = static_cast<int>(by_stride(pixel + padding).quotient) + 1;
    return {first, last < windows ? last : windows};
  }

  int image, windows, kernel, stride, padding;
  Divider by_stride;
};

struct Windows {
  explicit Windows(const Pool2dProblem& problem)
      : x(problem.x),
        y(problem.y),
        rows(problem.x[2], problem.y[2], problem.params.kernel.height, problem.params.stride.height,
             problem.params.padding.height),
        columns(problem.x[3], problem.y[3], problem.params.kernel.width,
                problem.params.stride.width, problem.params.padding.width) {}

  ImageExtents x, y;
  WindowAxis rows, columns;
};

// `Index` is the argmax's type; it is null where no argmax is wanted.
template <int kWidth, typename Index>
struct MaxPoolBody {
  Windows windows;
  PixelUnits units;
  const float* x;
  float* y;
  Index* argmax;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, window_row, window_column, channel] = units(index);
    const Run rows = windows.rows.pixels(window_row);
    const Run columns = windows.columns.pixels(window_column);
    const int first_row = windows.rows.begin(window_row);
    const int first_column = windows.columns.begin(window_column);
    Vector<float, kWidth> best = vector_of<kWidth>(0);
    Vector<Index, kWidth> winner{};
    bool none = true;
    for (int row = rows.first; row < rows.end; ++row) {
      for (int column = columns.first; column < columns.end; ++column) {
        const auto at =
            static_cast<Index>((row - first_row) * windows.columns.kernel + column - first_column);
        const auto values = load<kWidth>(x + windows.x.offset(n, row, column) + channel);
        for (int k = 0; k < kWidth; ++k) {
          const bool wins = none || values.at[k] > best.at[k];
          best.at[k] = wins ? values.at[k] : best.at[k];
          winner.at[k] = wins ? at : winner.at[k];
        }
        none = false;
      }
    }
    store(y + index * kWidth, best);
    if (argmax != nullptr) store(argmax + index * kWidth, winner);
  }
};

template <int kWidth, typename Index>
struct MaxPoolGradBody {
  Windows windows;
  PixelUnits units;
  const Index* argmax;
  const float* grad_output;
  float* grad_input;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, row, column, channel] = units(index);
    const Run rows = windows.rows.windows_of(row);
    const Run columns = windows.columns.windows_of(column);
    auto sum = vector_of<kWidth>(0);
    for (int i = rows.first; i < rows.end; ++i) {
      for (int j = columns.first; j < columns.end; ++j) {
        const auto own = static_cast<Index>((row - windows.rows.begin(i)) * windows.columns.kernel +
                                            column - windows.columns.begin(j));
        const std::int64_t at = windows.y.offset(n, i, j) + channel;
        const auto winners = load<kWidth>(argmax + at);
        const auto gradients = load<kWidth>(grad_output + at);
        for (int k = 0; k < kWidth; ++k) {
          sum.at[k] += winners.at[k] == own ? gradients.at[k] : 0.0f;
        }
      }
    }
    store(grad_input + index * kWidth, sum);
  }
};

__device__ float part_of_one(const Run& rows, const Run& columns) {
  return 1.0f / static_cast<float>((rows.end - rows.first) * (columns.end - columns.first));
}

template <int kWidth>
struct AveragePoolBody {
  Windows windows;
  PixelUnits units;
  const float* x;
  float* y;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, window_row, window_column, channel] = units(index);
    const Run rows = windows.rows.pixels(window_row);
    const Run columns = windows.columns.pixels(window_column);
    auto sum = vector_of<kWidth>(0);
    for (int row = rows.first; row < rows.end; ++row) {
      for (int column = columns.first; column < columns.end; ++column) {
        const auto values = load<kWidth>(x + windows.x.offset(n, row, column) + channel);
        for (int k = 0; k < kWidth; ++k) sum.at[k] += values.at[k];
      }
    }
    const auto pixels = static_cast<float>((rows.end - rows.first) * (columns.end - columns.first));
    for (float& value : sum.at) value /= pixels;
    store(y + index * kWidth, sum);
  }
};

template <int kWidth>
struct AveragePoolGradBody {
  Windows windows;
  PixelUnits units;
  const float* grad_output;
  float* grad_input;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, row, column, channel] = units(index);
    const Run rows = windows.rows.windows_of(row);
    const Run columns = windows.columns.windows_of(column);
    auto sum = vector_of<kWidth>(0);
    for (int i = rows.first; i < rows.end; ++i) {
      for (int j = columns.first; j < columns.end; ++j) {
        const float part = part_of_one(windows.rows.pixels(i), windows.columns.pixels(j));
        const auto gradients = load<kWidth>(grad_output + windows.y.offset(n, i, j) + channel);
        for (int k = 0; k < kWidth; ++k) sum.at[k] += part * gradients.at[k];
      }
    }
    store(grad_input + index * kWidth, sum);
  }
};

// One window that holds all pixels: a block adds up some channels of one image at a time.
template <int kWidth>
__global__ void average_images_kernel(ChannelTiles tiles, std::int64_t images, const float* x,
                                      float* y) {
  const std::int64_t channel = tiles.channel();
  const bool inside = channel < tiles.channels;
  for (std::int64_t n = blockIdx.y; n < images; n += gridDim.y) {
    float sums[kWidth] = {};
    if (inside) {
      const float* image = x + n * tiles.rows * tiles.channels + channel;
#pragma unroll 4
      for (std::int64_t pixel = threadIdx.y; pixel < tiles.rows; pixel += tiles.lines) {
        const auto values = load<kWidth>(image + pixel * tiles.channels);
        for (int k = 0; k < kWidth; ++k) sums[k] += values.at[k];
      }
    }
    add_lines(sums);
    if (!inside || threadIdx.y != 0) continue;
    for (int k = 0; k < kWidth; ++k) {
      y[n * tiles.channels + channel + k] = sums[k] / static_cast<float>(tiles.rows);
    }
  }
}

bool is_one_window(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode] = problem.params;
  return problem.y[2] == 1 && problem.y[3] == 1 && kernel.height - padding.height >= problem.x[2] &&
         kernel.width - padding.width >= problem.x[3];
}

// Runs make(width) for each unit of channels of `written`.
template <typename Make>
void for_each_unit(CudaCompute& compute, const Shape& written, const Make& make) {
  with_width(written[1] % kFloats == 0,
             [&](auto width) { for_each_index(compute, written.elements() / width, make(width)); });
}

// body(index), a number of the argmax's type.
template <typename Body>
void with_index_type(const Pool2dProblem& problem, const Body& body) {
  if (problem.argmax().dtype == DType::kUint8) {
    body(std::uint8_t{});
  } else {
    body(std::int32_t{});
  }
}

class MaxPool2dKernelCuda : public Kernel {
 public:
  MaxPool2dKernelCuda(CudaCompute& compute, const Pool2dProblem& problem, bool argmax)
      : compute_(compute), problem_(problem), argmax_(argmax) {}

  void run(const KernelArguments& arguments) override {
    with_index_type(problem_, [&](auto type) {
      using Index = decltype(type);
      for_each_unit(compute_, problem_.y, [&](auto width) {
        return MaxPoolBody<width.value, Index>{
            Windows(problem_), PixelUnits(problem_.y, width), arguments.input<float>(0),
            arguments.output<float>(0), argmax_ ? arguments.output<Index>(1) : nullptr};
      });
    });
  }

 private:
  CudaCompute& compute_;
  Pool2dProblem problem_;
  bool argmax_;
};

class MaxPool2dGradKernelCuda : public Kernel {
 public:
  MaxPool2dGradKernelCuda(CudaCompute& compute, const Pool2dProblem& problem)
      : compute_(compute), problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    with_index_type(problem_, [&](auto type) {
      using Index = decltype(type);
      for_each_unit(compute_, problem_.x, [&](auto width) {
        return MaxPoolGradBody<width.value, Index>{
            Windows(problem_), PixelUnits(problem_.x, width), arguments.input<Index>(0),
            arguments.input<float>(1), arguments.output<float>(0)};
      });
    });
  }

 private:
  CudaCompute& compute_;
  Pool2dProblem problem_;
};

class AveragePool2dKernelCuda : public Kernel {
 public:
  AveragePool2dKernelCuda(CudaCompute& compute, const Pool2dProblem& problem)
      : compute_(compute), problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    if (is_one_window(problem_)) return average_images(arguments);
    for_each_unit(compute_, problem_.y, [&](auto width) {
      return AveragePoolBody<width.value>{Windows(problem_), PixelUnits(problem_.y, width),
                                          arguments.input<float>(0), arguments.output<float>(0)};
    });
  }

 private:
  void average_images(const KernelArguments& arguments) const {
    const Shape& x = problem_.x;
    const ChannelTiles tiles(x[2] * x[3], x[1]);
    const dim3 grid(tiles.tiles, static_cast<unsigned>(std::min<std::int64_t>(x[0], kMostBlocks)));
    with_width(tiles.width == kFloats, [&](auto width) {
      launch(compute_, grid, tiles.block(), average_images_kernel<width.value>, tiles, x[0],
             arguments.input<float>(0), arguments.output<float>(0));
    });
  }

  CudaCompute& compute_;
  Pool2dProblem problem_;
};

class AveragePool2dGradKernelCuda : public Kernel {
 public:
  AveragePool2dGradKernelCuda(CudaCompute& compute, const Pool2dProblem& problem)
      : compute_(compute), problem_(problem) {}

  void run(const KernelArguments& arguments) override {
    for_each_unit(compute_, problem_.x, [&](auto width) {
      return AveragePoolGradBody<width.value>{Windows(problem_), PixelUnits(problem_.x, width),
                                              arguments.input<float>(0),
                                              arguments.output<float>(0)};
    });
  }

 private:
  CudaCompute& compute_;
  Pool2dProblem problem_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool2d_cuda(CudaCompute& compute, const Pool2dProblem& problem,
                                             bool argmax) {
  return std::make_unique<MaxPool2dKernelCuda>(compute, problem, argmax);
}

std::unique_ptr<Kernel> make_max_pool2d_grad_cuda(CudaCompute& compute,
                                                  const Pool2dProblem& problem) {
  return std::make_unique<MaxPool2dGradKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_average_pool2d_cuda(CudaCompute& compute,
                                                 const Pool2dProblem& problem) {
  return std::make_unique<AveragePool2dKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_average_pool2d_grad_cuda(CudaCompute& compute,
                                                      const Pool2dProblem& problem) {
  return std::make_unique<AveragePool2dGradKernelCuda>(compute, problem);
}

}  // namespace skyline
