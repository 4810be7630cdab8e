#pragma once

#include <cmath>

#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/images_cuda.h"

// For CUDA sources only.
//
// Images are matrices: a row is a pixel, a column a channel. Each channel gets its sums over all
// rows, in floats within a block and in doubles over the blocks; then one pass covers the elements.

namespace skyline {

// A block's sums of a channel.
template <int kSums>
struct BlockSums {
  float of[kSums];
};

// terms.prepare<kWidth>(channel) returns what terms.add needs for these channels; terms.add(…) adds
// the terms of an element, with what terms.read<kWidth>(element) returned, to its channels' sums. A
// block writes parts[chunk * channels + channel].
template <int kWidth, typename Terms>
__global__ void __launch_bounds__(kThreads, ChannelTiles::kBlocksAtOnce)
    channel_sums_kernel(ChannelTiles tiles, Terms terms, BlockSums<Terms::kSums>* parts) {
  const int channel = tiles.channel();
  const bool inside = channel < tiles.channels;
  float sums[Terms::kSums * kWidth] = {};
  if (inside) {
    const auto prepared = terms.template prepare<kWidth>(channel);
    for_each_unit(
        tiles, channel, [&](std::int64_t element) { return terms.template read<kWidth>(element); },
        [&](std::int64_t element, const auto& unit) { terms.add(prepared, element, unit, sums); });
  }
  add_lines(sums);
  if (!inside || threadIdx.y != 0) return;
  BlockSums<Terms::kSums>* own = parts + blockIdx.y * tiles.channels + channel;
  for (int k = 0; k < kWidth; ++k) {
    for (int j = 0; j < Terms::kSums; ++j) own[k].of[j] = sums[j * kWidth + k];
  }
}

// Calls finish(channel, sums) once a channel; blockDim.y threads add up its parts.
template <int kSums, typename Finish>
__global__ void finish_sums_kernel(const BlockSums<kSums>* parts, std::int64_t channels,
                                   unsigned chunks, Finish finish) {
  const std::int64_t channel = thread_of_grid();
  const bool inside = channel < channels;
  double sums[kSums] = {};
  if (inside) {
#pragma unroll 4
    for (unsigned chunk = threadIdx.y; chunk < chunks; chunk += blockDim.y) {
      const BlockSums<kSums> part = parts[chunk * channels + channel];
      for (int j = 0; j < kSums; ++j) sums[j] += double{part.of[j]};
    }
  }
  add_lines(sums);
  if (inside && threadIdx.y == 0) finish(channel, sums);
}

// Sums of each channel of some images, and passes over their elements.
class ChannelKernels {
 public:
  ChannelKernels(CudaCompute& compute, const Shape& x)
      : compute_(compute), tiles_(x[0] * x[2] * x[3], x[1]) {}

  std::size_t parts_bytes(std::size_t sums = 2) const {
    return static_cast<std::size_t>(tiles_.chunks * tiles_.channels) * sums * sizeof(float);
  }
  double rows() const { return static_cast<double>(tiles_.rows); }

  template <typename Terms, typename Finish>
  void sum(const Terms& terms, std::byte* workspace, const Finish& finish) const {
    auto* parts = reinterpret_cast<BlockSums<Terms::kSums>*>(workspace);
    with_width(tiles_.width == kFloats, [&](auto width) {
      launch(compute_, tiles_.grid(), tiles_.block(), channel_sums_kernel<width.value, Terms>,
             tiles_, terms, parts);
    });
    constexpr unsigned kChannels = 4;  // of a block: a sector of 32 bytes
    const auto blocks = static_cast<unsigned>((tiles_.channels + kChannels - 1) / kChannels);
    launch(compute_, blocks, dim3(kChannels, kThreads / kChannels),
           finish_sums_kernel<Terms::kSums, Finish>, parts, tiles_.channels, tiles_.chunks, finish);
  }

  template <int kLoads = 4, typename Function>
  void for_each_element(const Function& function) const {
    skyline::for_each_element<kLoads>(compute_, tiles_, function);
  }

 private:
  CudaCompute& compute_;
  ChannelTiles tiles_;
};

inline __device__ float inverse_deviation(float variance, float epsilon) {
  return 1.0f / std::sqrt(variance + epsilon);
}

template <int kWidth>
__device__ Vector<float, kWidth> scale_of(const float* gamma, const float* variance,
                                          std::int64_t channel, float epsilon) {
  auto scale = load<kWidth>(gamma + channel);
  const auto variances = load<kWidth>(variance + channel);
  for (int k = 0; k < kWidth; ++k) scale.at[k] *= inverse_deviation(variances.at[k], epsilon);
  return scale;
}

// The numbers that normalize, one float a channel each.
struct Normalization {
  const float *mean, *variance, *gamma, *beta;  // beta may be null if y is not needed
  float epsilon;

  template <int kWidth>
  struct Channels {
    Vector<float, kWidth> mean, scale, beta;

    // Forward and backward must agree on its sign, so compilers may not fuse its operations.
    __device__ float y(float difference, int k) const {
      return std::fma(difference, scale.at[k], beta.at[k]);
    }
    __device__ float normalized(float value, int k) const { return y(value - mean.at[k], k); }
    // Returns what a relu, if there is one, passed of the gradient: where forward, by the same
    // arithmetic, found y between 0 and the limit.
    __device__ float passed(float difference, float gradient, const BatchNormParams& params,
                            int k) const {
      const float value = y(difference, k);
      return !params.relu || (value > 0 && value < params.relu_limit) ? gradient : 0.0f;
    }
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    return {load<kWidth>(mean + channel), scale_of<kWidth>(gamma, variance, channel, epsilon),
            beta == nullptr ? vector_of<kWidth>(0) : load<kWidth>(beta + channel)};
  }
};

}  // namespace skyline
