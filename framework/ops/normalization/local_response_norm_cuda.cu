#include <algorithm>
#include <type_traits>

#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/reduce_cuda.h"

// As on the CPU, works on tiles of whole pixels (the channels of large pixels in blocks) and
// finishes each stage for the whole tile before the next, so that a result may be written over its
// operand.

namespace skyline {
namespace {

// Each pixel has room for a block of channels and for `margin` channels before it.
struct Tiling {
  static constexpr int kFloats = 2048;  // of one intermediate
  static constexpr int kMaxMargin = kLocalResponseNormMaxSize - 1;

  Tiling(std::int64_t channels, int margin_in)
      : margin(margin_in),
        block(static_cast<int>(std::min<std::int64_t>(channels + margin, kFloats - kMaxMargin))),
        pitch(margin + block),
        pixels(kFloats / pitch) {}

  int margin, block, pitch;
  int pixels;  // in a tile
};

// Calls body(pixel, i) for all of pixels × count: a warp takes pixels, its threads neighbours.
template <typename Body>
__device__ void for_each_value(int pixels, int count, const Body& body) {
  for (int pixel = static_cast<int>(threadIdx.y); pixel < pixels;
       pixel += static_cast<int>(blockDim.y)) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
      body(pixel, i);
    }
  }
}

// The pixels of a tile.
struct Tile {
  std::int64_t channels;
  const float* x;
  int pixels;

  __device__ float value(int pixel, std::int64_t channel) const {
    return x[pixel * channels + channel];
  }
  // Returns 0 if there is no such channel.
  __device__ float square(int pixel, std::int64_t channel) const {
    if (channel < 0 || channel >= channels) return 0;
    return value(pixel, channel) * value(pixel, channel);
  }
};

__device__ int smaller(std::int64_t a, int b) { return a < b ? static_cast<int>(a) : b; }

template <typename Half, typename Power>
__global__ void normalize_kernel(LocalResponseNormProblem problem, Tiling tiling, Half half,
                                 Power power, const float* x, float* y) {
  __shared__ float squares[Tiling::kFloats];
  const std::int64_t channels = problem.channels;
  const int margin = tiling.margin, pitch = tiling.pitch;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * tiling.pixels;
  const Tile tile{channels, x + first * channels, smaller(problem.pixels - first, tiling.pixels)};
  for_each_value(tile.pixels, margin, [&](int pixel, int i) {
    squares[pixel * pitch + i] = tile.square(pixel, i - half);
  });
  for (std::int64_t begin = 0; begin < channels; begin += tiling.block) {
    const int count = smaller(channels - begin, tiling.block);
    for_each_value(tile.pixels, count, [&](int pixel, int i) {
      squares[pixel * pitch + margin + i] = tile.square(pixel, begin + half + i);
    });
    __syncthreads();
    for_each_value(tile.pixels, count, [&](int pixel, int i) {
      const float s =
          problem.params.k + problem.params.alpha * window_sum(squares + pixel * pitch + i, half);
      y[(first + pixel) * channels + begin + i] = tile.value(pixel, begin + i) * power(s).normal;
    });
    __syncthreads();
    for_each_value(tile.pixels, begin + count < channels ? margin : 0, [&](int pixel, int i) {
      squares[pixel * pitch + i] = squares[pixel * pitch + count + i];
    });
    __syncthreads();
  }
}

// Gradients are written `half` channels behind the terms.
template <typename Half, typename Power>
__global__ void normalize_grad_kernel(LocalResponseNormProblem problem, Tiling tiling, Half half,
                                      Power power, const float* x, const float* grad_output,
                                      float* grad_input) {
  __shared__ float squares[Tiling::kFloats];  // x^2, but from begin - half on
  __shared__ float scaled[Tiling::kFloats];   // grad_output * s^-beta
  __shared__ float terms[Tiling::kFloats];    // grad_output * x * s^(-beta - 1)
  const std::int64_t channels = problem.channels;
  const int margin = tiling.margin, pitch = tiling.pitch;
  const float factor = -2 * problem.params.alpha * problem.params.beta;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * tiling.pixels;
  const Tile tile{channels, x + first * channels, smaller(problem.pixels - first, tiling.pixels)};
  for_each_value(tile.pixels, margin, [&](int pixel, int i) {
    squares[pixel * pitch + i] = tile.square(pixel, i - half);
    terms[pixel * pitch + i] = 0;
  });
  for (std::int64_t begin = 0; begin < channels + half; begin += tiling.block) {
    const int count = smaller(channels + half - begin, tiling.block);
    for_each_value(tile.pixels, count, [&](int pixel, int i) {
      squares[pixel * pitch + margin + i] = tile.square(pixel, begin + half + i);
    });
    __syncthreads();
    for_each_value(tile.pixels, count, [&](int pixel, int i) {
      const int at = pixel * pitch + i;
      terms[at + margin] = 0;
      if (begin + i >= channels) return;
      const Powers powers =
          power(problem.params.k + problem.params.alpha * window_sum(squares + at, half));
      scaled[at + margin] = grad_output[(first + pixel) * channels + begin + i] * powers.normal;
      terms[at + margin] = scaled[at + margin] * tile.value(pixel, begin + i) * powers.reciprocal;
    });
    __syncthreads();
    for_each_value(tile.pixels, count, [&](int pixel, int i) {
      const std::int64_t channel = begin + i - half;
      if (channel < 0) return;
      const int at = pixel * pitch + i;
      grad_input[(first + pixel) * channels + channel] =
          scaled[at + half] + factor * tile.value(pixel, channel) * window_sum(terms + at, half);
    });
    __syncthreads();
    for_each_value(tile.pixels, begin + count < channels + half ? margin : 0,
                   [&](int pixel, int i) {
                     const int at = pixel * pitch + i;
                     squares[at] = squares[at + count];
                     scaled[at] = scaled[at + count];
                     terms[at] = terms[at + count];
                   });
    __syncthreads();
  }
}

// Launches a kernel with a block a tile.
template <typename Half, typename Power, typename... Operands>
void launch_tiles(CudaCompute& compute, const LocalResponseNormProblem& problem, Half half,
                  Power power,
                  void (*kernel)(LocalResponseNormProblem, Tiling, Half, Power, Operands...),
                  std::type_identity_t<Operands>... operands) {
  const Tiling tiling(problem.channels, 2 * half);
  const std::int64_t tiles = (problem.pixels + tiling.pixels - 1) / tiling.pixels;
  launch(compute, static_cast<unsigned>(tiles), dim3(kWarp, kThreads / kWarp), kernel, problem,
         tiling, half, power, operands...);
}

}  // namespace

std::unique_ptr<Kernel> make_local_response_norm_cuda(CudaCompute& compute,
                                                      const LocalResponseNormProblem& problem) {
  return with_window(problem.params, [&](auto half, auto power) {
    return make_kernel([&compute, problem, half, power](const KernelArguments& arguments) {
      launch_tiles(compute, problem, half, power, normalize_kernel<decltype(half), decltype(power)>,
                   arguments.input<float>(0), arguments.output<float>(0));
    });
  });
}

std::unique_ptr<Kernel> make_local_response_norm_grad_cuda(
    CudaCompute& compute, const LocalResponseNormProblem& problem) {
  return with_window(problem.params, [&](auto half, auto power) {
    return make_kernel([&compute, problem, half, power](const KernelArguments& arguments) {
      launch_tiles(
          compute, problem, half, power, normalize_grad_kernel<decltype(half), decltype(power)>,
          arguments.input<float>(0), arguments.input<float>(1), arguments.output<float>(0));
    });
  });
}

}  // namespace skyline
