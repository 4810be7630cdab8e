#include "framework/cuda/cublas/product.h"

#include <algorithm>

#include "framework/cuda/cuda_compute.h"

namespace skyline {

std::size_t product_workspace_bytes(const CudaCompute& compute, const ProductProblem& problem) {
  constexpr std::int64_t kTile = 128;
  // Two blocks a multiprocessor take about 16 MiB; shares of results that are nearly as large as
  // that, up to twice as much.
  constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  // An H200 computes 256 products in four times the time that writing and adding their sum takes.
  constexpr std::int64_t kLeastInner = 256;
  const auto parts = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
  const std::int64_t tiles =
      std::max<std::int64_t>(parts(problem.rows, kTile) * parts(problem.columns, kTile), 1);
  const auto bytes = static_cast<std::size_t>(problem.rows * problem.columns) * sizeof(float);
  const std::size_t shares = std::min(
      {static_cast<std::size_t>(parts(2 * compute.multiprocessors(), tiles)),
       static_cast<std::size_t>(problem.inner / kLeastInner),
       std::min(kMostBytes, problem.most_workspace_bytes) / std::max<std::size_t>(bytes, 1)});
  return shares > 1 ? shares * bytes : 0;
}

}  // namespace skyline
