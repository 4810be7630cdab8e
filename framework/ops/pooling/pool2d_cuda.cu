#include <algorithm>
#include <cmath>

#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/support/images_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

// Every thread writes kWidth channels of one pixel and gathers their sources, so nothing is written
// twice and neighbouring windows find their pixels in the cache.

namespace skyline {
namespace {

// A range along one axis: `first` to below `end`.
struct Run {
  int first, end;
};

// Pixels of an image.
struct Rectangle {
  Run rows, columns;

  __device__ float count() const {
    return static_cast<float>((rows.end - rows.first) * (columns.end - columns.first));
  }
  // Calls visit(row, column, offset of its first channel) for each pixel, in image n of `image`.
  template <typename Visit>
  __device__ void each(const ImageExtents& image, std::int64_t n, const Visit& visit) const {
    for (int row = rows.first; row < rows.end; ++row) {
      for (int column = columns.first; column < columns.end; ++column) {
        visit(row, column, image.offset(n, row, column));
      }
    }
  }
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

  // Returns where a window begins; may be before the image.
  __device__ int begin(int window) const { return window * stride - padding; }
  // Returns its pixels inside the image.
  __device__ Run pixels(int window) const {
    const int first = begin(window), last = first + kernel;
    return {first < 0 ? 0 : first, last < image ? last : image};
  }
  // Returns the windows that contain a pixel.
  __device__ Run windows_of(int pixel) const {
    const int past = pixel + padding - kernel;  // the first window begins beyond this
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

  __device__ Rectangle pixels(const PixelUnits::Position& window) const {
    return {rows.pixels(window.row), columns.pixels(window.column)};
  }
  __device__ Rectangle windows_of(const PixelUnits::Position& pixel) const {
    return {rows.windows_of(pixel.row), columns.windows_of(pixel.column)};
  }
  // Returns a pixel's index in a window, as argmax counts.
  __device__ int index(int window_row, int window_column, int row, int column) const {
    return (row - rows.begin(window_row)) * columns.kernel + column - columns.begin(window_column);
  }

  ImageExtents x, y;
  WindowAxis rows, columns;
};

// `Index` is the argmax's type; the pointer is null if no argmax is needed. NaN wins.
template <int kWidth, typename Index>
struct MaxPoolBody {
  Windows windows;
  PixelUnits units;
  const float* x;
  float* y;
  Index* argmax;
  bool relu;

  __device__ void operator()(std::int64_t index) const {
    const PixelUnits::Position place = units(index);
    auto best = vector_of<kWidth>(0);
    Vector<Index, kWidth> winner;
    for (Index& own : winner.at) own = static_cast<Index>(kNoPixel);
    bool none = !relu;
    windows.pixels(place).each(windows.x, place.n, [&](int row, int column, std::int64_t at) {
      const auto own = static_cast<Index>(windows.index(place.row, place.column, row, column));
      const auto values = load<kWidth>(x + at + place.channel);
      for (int k = 0; k < kWidth; ++k) {
        const bool wins = none || values.at[k] > best.at[k] || std::isnan(values.at[k]);
        best.at[k] = wins ? values.at[k] : best.at[k];
        winner.at[k] = wins ? own : winner.at[k];
      }
      none = false;
    });
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
    const PixelUnits::Position place = units(index);
    auto sum = vector_of<kWidth>(0);
    windows.windows_of(place).each(windows.y, place.n, [&](int row, int column, std::int64_t at) {
      const auto own = static_cast<Index>(windows.index(row, column, place.row, place.column));
      const auto winners = load<kWidth>(argmax + at + place.channel);
      const auto gradients = load<kWidth>(grad_output + at + place.channel);
      for (int k = 0; k < kWidth; ++k) {
        sum.at[k] += winners.at[k] == own ? gradients.at[k] : 0.0f;
      }
    });
    store(grad_input + index * kWidth, sum);
  }
};

template <int kWidth>
struct AveragePoolBody {
  Windows windows;
  PixelUnits units;
  const float* x;
  float* y;

  __device__ void operator()(std::int64_t index) const {
    const PixelUnits::Position place = units(index);
    const Rectangle pixels = windows.pixels(place);
    auto sum = vector_of<kWidth>(0);
    pixels.each(windows.x, place.n, [&](int, int, std::int64_t at) {
      const auto values = load<kWidth>(x + at + place.channel);
      for (int k = 0; k < kWidth; ++k) sum.at[k] += values.at[k];
    });
    const float count = pixels.count();
    for (float& value : sum.at) value /= count;
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
    const PixelUnits::Position place = units(index);
    auto sum = vector_of<kWidth>(0);
    windows.windows_of(place).each(windows.y, place.n, [&](int row, int column, std::int64_t at) {
      const float part = 1.0f / windows.pixels({place.n, row, column, 0}).count();
      const auto gradients = load<kWidth>(grad_output + at + place.channel);
      for (int k = 0; k < kWidth; ++k) sum.at[k] += part * gradients.at[k];
    });
    store(grad_input + index * kWidth, sum);
  }
};

// One window holds all pixels: each block adds up some channels of one image.
template <int kWidth>
__global__ void average_images_kernel(ChannelTiles tiles, std::int64_t images, const float* x,
                                      float* y) {
  const int channel = tiles.channel();
  const bool inside = channel < tiles.channels;
  for (std::int64_t n = blockIdx.y; n < images; n += gridDim.y) {
    auto sum = vector_of<kWidth>(0);
    if (inside) {
      const float* image = x + n * tiles.rows * tiles.channels + channel;
#pragma unroll 4
      for (std::int64_t pixel = threadIdx.y; pixel < tiles.rows; pixel += tiles.lines) {
        const auto values = load<kWidth>(image + pixel * tiles.channels);
        for (int k = 0; k < kWidth; ++k) sum.at[k] += values.at[k];
      }
    }
    add_lines(sum.at);
    if (!inside || threadIdx.y != 0) continue;
    for (float& value : sum.at) value /= static_cast<float>(tiles.rows);
    store(y + n * tiles.channels + channel, sum);
  }
}

bool is_one_window(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  return problem.y[2] == 1 && problem.y[3] == 1 && kernel.height - padding.height >= problem.x[2] &&
         kernel.width - padding.width >= problem.x[3];
}

std::unique_ptr<Kernel> make_average_images(CudaCompute& compute, const Shape& x) {
  const ChannelTiles tiles(x[2] * x[3], x[1]);
  return make_kernel([&compute, tiles, images = x[0]](const KernelArguments& arguments) {
    const dim3 grid(tiles.tiles,
                    static_cast<unsigned>(std::min<std::int64_t>(images, kMostBlocks)));
    with_width(tiles.width == kFloats, [&](auto width) {
      launch(compute, grid, tiles.block(), average_images_kernel<width.value>, tiles, images,
             arguments.input<float>(0), arguments.output<float>(0));
    });
  });
}

bool in_fours(const Pool2dProblem& problem) { return problem.x[1] % kFloats == 0; }

// Calls make(index) with a number of the argmax's type.
template <typename Make>
std::unique_ptr<Kernel> with_index_type(const Pool2dProblem& problem, const Make& make) {
  return problem.argmax().dtype == DType::kUint8 ? make(std::uint8_t{}) : make(std::int32_t{});
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool2d_cuda(CudaCompute& compute, const Pool2dProblem& problem) {
  return with_index_type(problem, [&](auto type) {
    using Index = decltype(type);
    return make_pixel_kernel(
        compute, problem.y, in_fours(problem),
        [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
          return MaxPoolBody<width.value, Index>{
              Windows(problem),
              units,
              arguments.input<float>(0),
              arguments.output<float>(0),
              problem.indices ? arguments.output<Index>(1) : nullptr,
              problem.params.relu};
        });
  });
}

std::unique_ptr<Kernel> make_max_pool2d_grad_cuda(CudaCompute& compute,
                                                  const Pool2dProblem& problem) {
  return with_index_type(problem, [&](auto type) {
    using Index = decltype(type);
    return make_pixel_kernel(
        compute, problem.x, in_fours(problem),
        [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
          return MaxPoolGradBody<width.value, Index>{
              Windows(problem), units, arguments.input<Index>(0), arguments.input<float>(1),
              arguments.output<float>(0)};
        });
  });
}

std::unique_ptr<Kernel> make_average_pool2d_cuda(CudaCompute& compute,
                                                 const Pool2dProblem& problem) {
  if (is_one_window(problem)) return make_average_images(compute, problem.x);
  return make_pixel_kernel(
      compute, problem.y, in_fours(problem),
      [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
        return AveragePoolBody<width.value>{Windows(problem), units, arguments.input<float>(0),
                                            arguments.output<float>(0)};
      });
}

std::unique_ptr<Kernel> make_average_pool2d_grad_cuda(CudaCompute& compute,
                                                      const Pool2dProblem& problem) {
  return make_pixel_kernel(
      compute, problem.x, in_fours(problem),
      [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
        return AveragePoolGradBody<width.value>{Windows(problem), units, arguments.input<float>(0),
                                                arguments.output<float>(0)};
      });
}

}  // namespace skyline
