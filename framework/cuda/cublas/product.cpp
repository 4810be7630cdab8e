#include "framework/cuda/cublas/product.h"

namespace skyline {

std::size_t product_workspace_bytes(const ProductProblem& problem) {
  // 8 MiB hold the tiles of 128 x 128 that an H100's 132 multiprocessors work on at once.
  constexpr std::size_t kBusyBytes = std::size_t{8} << 20;
  constexpr std::size_t kShares = 8;
  const std::size_t bytes =
      static_cast<std::size_t>(problem.rows * problem.columns) * sizeof(float);
  return bytes < kBusyBytes ? kShares * bytes : 0;
}

}  // namespace skyline
