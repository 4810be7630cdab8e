#include "framework/ops/support/column_sums_cuda.h"

#include "framework/ops/support/images_cuda.h"

namespace skyline {
namespace {

// Writes sums[chunk, column] for the chunks of `tiles`; with one chunk also to `copy`, unless null.
template <int kWidth>
__global__ void column_sums_kernel(ChannelTiles tiles, const float* values, float* sums,
                                   float* copy) {
  const int column = tiles.channel();
  const bool works = column < tiles.channels;
  auto total = vector_of<kWidth>(0);
  if (works) {
    for_each_unit<false, kWidth == 1 ? 8 : 4>(  // a float alone is a quarter of the bytes
        tiles, column,
        [&](std::int64_t element) { return Loaded<1, kWidth>{load<kWidth>(values + element)}; },
        [&](std::int64_t, const Loaded<1, kWidth>& unit) {
          for (int k = 0; k < kWidth; ++k) total.at[k] += unit.of[0].at[k];
        });
  }
  add_lines(total.at);
  if (threadIdx.y != 0 || !works) return;
  store(sums + blockIdx.y * tiles.channels + column, total);
  if (copy != nullptr) store(copy + column, total);
}

void add_columns(CudaCompute& compute, const ChannelTiles& tiles, const float* values, float* sums,
                 float* copy) {
  with_width(tiles.width == kFloats, [&](auto width) {
    launch(compute, tiles.grid(), tiles.block(), column_sums_kernel<width.value>, tiles, values,
           sums, copy);
  });
}

}  // namespace

std::size_t ColumnSums::workspace_bytes() const {
  const ChannelTiles tiles(rows_, columns_);
  return tiles.chunks == 1 ? 0 : tiles.chunks * static_cast<std::size_t>(columns_) * sizeof(float);
}

void ColumnSums::run(CudaCompute& compute, const float* values, float* sums, std::byte* workspace,
                     float* copy) const {
  const ChannelTiles tiles(rows_, columns_);
  if (tiles.chunks == 1) return add_columns(compute, tiles, values, sums, copy);
  auto* of_chunks = reinterpret_cast<float*>(workspace);
  add_columns(compute, tiles, values, of_chunks, nullptr);
  ChannelTiles rest(tiles.chunks, columns_);
  rest.chunk_rows = rest.rows;
  rest.chunks = 1;
  add_columns(compute, rest, of_chunks, sums, copy);
}

}  // namespace skyline
