// Winograd's kernels share this: tiles of images, and the numbers of their rounds.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/winograd_code.h"

namespace skyline::winograd {

using Index = std::int64_t;

constexpr int kSide = 6, kPositions = kSide * kSide;  // of a tile

inline Index round_up(Index count, Index multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// An odd number of cache lines that holds `floats`: addresses so far apart do not meet in one set
// of a cache.
inline Index odd_lines(Index floats) {
  constexpr Index kLine = 16;
  return (round_up(floats, kLine) / kLine | 1) * kLine;
}

inline Index largest_share(Index count, Index shares) { return (count + shares - 1) / shares; }

// Images [N, C, H, W], channels-last, whose tiles begin at pixel (-height, -width) of each.
template <typename Float>
struct Images {
  Float* at;
  const Shape& shape;
  Size2d before;
};

// The tiles of code.outputs x code.outputs pixels that cover results [N, O, OH, OW], image after
// image.
struct Tiles {
  Tiles(const Shape& y, int outputs_)
      : outputs(outputs_),
        rows((y[2] + outputs - 1) / outputs),
        columns((y[3] + outputs - 1) / outputs),
        count(y[0] * rows * columns) {}

  // Points at channel `channel` of the side x side pixels of a tile; at `outside` for pixels that
  // are not there.
  template <typename Float>
  std::array<Float*, kPositions> pixels(const Images<Float>& images, Index tile, int side,
                                        Index channel, Float* outside) const {
    const Shape& shape = images.shape;
    const Index first_y = tile / columns % rows * outputs - images.before.height,
                first_x = tile % columns * outputs - images.before.width;
    std::array<Float*, kPositions> found;
    std::size_t next = 0;
    for (Index y = first_y; y < first_y + side; ++y) {
      for (Index x = first_x; x < first_x + side; ++x) {
        const bool inside = y >= 0 && y < shape[2] && x >= 0 && x < shape[3];
        const Index pixel = (tile / (rows * columns) * shape[2] + y) * shape[3] + x;
        found[next++] = inside ? images.at + pixel * shape[1] + channel : outside;
      }
    }
    return found;
  }

  int outputs;
  Index rows, columns, count;
};

// As many shares of the work as can run at the same time, each with a workspace of its own.
inline Index shares_of(Index work, std::size_t parts) {
  return std::clamp<Index>(work, 1,
                           std::max<Index>(omp_get_max_threads(), static_cast<Index>(parts)));
}

// Returns the kernel of make_winograd_cpu() for the gradient of the weight.
std::unique_ptr<Kernel> make_grad_weight(const Conv2dProblem& problem, const WinogradCode& code,
                                         std::size_t parts);

}  // namespace skyline::winograd
