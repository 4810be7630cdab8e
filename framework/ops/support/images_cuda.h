#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "framework/kernel.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/vectors_cuda.h"
#include "framework/shape.h"

// For CUDA sources only.

namespace skyline {

// Extents of images [N, C, H, W], stored channels-last.
struct ImageExtents {
  explicit ImageExtents(const Shape& image)
      : channels(image[1]), pixels(image[2] * image[3]), columns(static_cast<int>(image[3])) {}

  // Returns the offset of a pixel's first channel.
  __device__ std::int64_t offset(std::int64_t n, int row, int column) const {
    return (n * pixels + row * columns + column) * channels;
  }

  std::int64_t channels, pixels;
  int columns;
};

// Numbers the images' units of `width` channels, one thread each.
class PixelUnits {
 public:
  struct Position {
    std::int64_t n;
    int row, column;
    std::int64_t channel;
  };

  PixelUnits(const Shape& image, int width)
      : width_(width), rows_(image[2]), columns_(image[3]), units_per_pixel_(image[1] / width) {}

  __device__ Position operator()(std::int64_t index) const {
    const auto [pixel, unit] = units_per_pixel_(index);
    const auto [line, column] = columns_(pixel);
    const auto [n, row] = rows_(line);
    return {n, static_cast<int>(row), static_cast<int>(column), unit * width_};
  }

 private:
  int width_;
  Divider rows_, columns_, units_per_pixel_;
};

// Calls the function that make(width, units, arguments) returns for each unit of `width` channels
// of `written`, one thread each.
template <typename Make>
std::unique_ptr<Kernel> make_pixel_kernel(CudaCompute& compute, const Shape& written, bool in_fours,
                                          Make make) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    with_width(in_fours, [&](auto width) {
      for_each_index(compute, written.elements() / width,
                     make(width, PixelUnits(written, width), arguments));
    });
  });
}

// How blocks divide a matrix [rows, channels], the form in which images are stored. A block takes
// `across` units of `width` channels side by side and `chunk_rows` rows; each of its `lines` takes
// every lines-th of these rows. The division depends only on the extents, so that sums do not
// depend on the card.
struct ChannelTiles {
  ChannelTiles(std::int64_t rows_in, std::int64_t channels_in)
      : rows(rows_in), channels(channels_in), width(channels_in % kFloats == 0 ? kFloats : 1) {
    const std::int64_t units = channels / width;
    tiles = static_cast<unsigned>((units + kMostAcross - 1) / kMostAcross);
    across = static_cast<unsigned>((units + tiles - 1) / tiles);
    lines = static_cast<unsigned>(std::min<std::int64_t>(kThreads / across, rows));
    const std::int64_t most_chunks = std::max<std::int64_t>(1, kEnoughBlocks / tiles);
    const std::int64_t least_rows = lines * kLeastRowsOfLine;
    const std::int64_t wanted =
        std::clamp<std::int64_t>((rows + least_rows - 1) / least_rows, 1, most_chunks);
    chunk_rows = (rows + wanted - 1) / wanted;
    chunks = static_cast<unsigned>((rows + chunk_rows - 1) / chunk_rows);
    stride = lines * channels;
  }

  dim3 grid() const { return dim3(tiles, chunks); }
  dim3 block() const { return dim3(across, lines); }
  // Returns this thread's first channel; beyond the last for threads without work.
  __device__ int channel() const {
    return static_cast<int>(blockIdx.x * across + threadIdx.x) * width;
  }

  // Reads 1 KiB of a row at a time. With 48 registers a thread, each of the 132 multiprocessors of
  // an H100 or H200 runs 5 blocks: 660 at once, and more would run alone in a second turn.
  static constexpr std::int64_t kMostAcross = 64, kEnoughBlocks = 640, kLeastRowsOfLine = 4;
  static constexpr int kBlocksAtOnce = 5;  // the compiler keeps to the registers that allow so many

  std::int64_t rows, channels;
  int width;
  unsigned tiles, across, lines;
  std::int64_t chunk_rows;
  std::int64_t stride;  // elements between two rows of a line
  unsigned chunks;
};

// One unit of elements as a thread reads it: a vector of each of kCount operands.
template <int kCount, int kWidth>
struct Loaded {
  Vector<float, kWidth> of[kCount];
};

// Calls use(element, read(element)) for this thread's units of a channel, from the first row or
// from the last. kLoads loads, or three, are on their way at a time: with one, too few bytes are to
// keep an H100's memory busy. So `use` may write only what it was given to read.
template <bool kFromLast = false, int kLoads = 4, typename Read, typename Use>
__device__ void for_each_unit(const ChannelTiles& tiles, int channel, const Read& read,
                              const Use& use) {
  const std::int64_t begin = blockIdx.y * tiles.chunk_rows, last = begin + tiles.chunk_rows;
  const std::int64_t end = last < tiles.rows ? last : tiles.rows;
  const std::int64_t first = kFromLast ? end - 1 - threadIdx.y : begin + threadIdx.y;
  // Registers are few: rows of a block fit into 32 bits, and sums read their step from constants.
  const int lines = static_cast<int>(tiles.lines);
  const std::int64_t step = kFromLast ? tiles.channels * -lines : tiles.stride;
  int left = static_cast<int>(end - begin) - static_cast<int>(threadIdx.y);
  std::int64_t element = first * tiles.channels + channel;

  using Unit = decltype(read(element));
  constexpr int kOperands = std::extent_v<decltype(Unit::of)>;
  constexpr int kRows = kLoads < kOperands ? 1 : kLoads / kOperands;
  for (; left > 0; left -= kRows * lines) {
    Unit units[kRows];
    for (int k = 0; k < kRows; ++k) {
      if (k == 0 || k * lines < left) units[k] = read(element + k * step);
    }
    for (int k = 0; k < kRows; ++k) {
      if (k == 0 || k * lines < left) use(element + k * step, units[k]);
    }
    element += kRows * step;
  }
}

// Calls function.write(prepared, element, function.read<kWidth>(element)) for every unit of
// elements, with what function.prepare<kWidth>(channel) returns for its channels. Starts at the
// last row, because what was read last may still be in the cache.
template <int kWidth, int kLoads, typename Function>
__global__ void __launch_bounds__(kThreads, ChannelTiles::kBlocksAtOnce)
    for_each_element_kernel(ChannelTiles tiles, Function function) {
  const int channel = tiles.channel();
  if (channel >= tiles.channels) return;
  const auto prepared = function.template prepare<kWidth>(channel);
  for_each_unit<true, kLoads>(
      tiles, channel, [&](std::int64_t element) { return function.template read<kWidth>(element); },
      [&](std::int64_t element, const auto& unit) { function.write(prepared, element, unit); });
}

template <int kLoads = 4, typename Function>
void for_each_element(CudaCompute& compute, const ChannelTiles& tiles, const Function& function) {
  with_width(tiles.width == kFloats, [&](auto width) {
    launch(compute, tiles.grid(), tiles.block(),
           for_each_element_kernel<width.value, kLoads, Function>, tiles, function);
  });
}

// Adds up each of `values` over a block's lines, always in the same order; the first line gets the
// sums. All threads of the block must call it.
template <typename Value, int kCount>
__device__ void add_lines(Value (&values)[kCount]) {
  __shared__ Value shared[kCount][kThreads];
  const unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();  // the last call's values have been read
  for (int k = 0; k < kCount; ++k) shared[k][own] = values[k];
  unsigned lines = blockDim.y;
  while (lines > 1) {
    const unsigned half = (lines + 1) / 2;
    __syncthreads();
    if (threadIdx.y + half < lines) {
      for (int k = 0; k < kCount; ++k) shared[k][own] += shared[k][own + half * blockDim.x];
    }
    lines = half;
  }
  if (threadIdx.y != 0) return;
  for (int k = 0; k < kCount; ++k) values[k] = shared[k][own];
}

}  // namespace skyline
