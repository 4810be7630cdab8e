#include "framework/cuda/cublas/product.h"

#include <algorithm>

namespace skyline {

std::size_t product_workspace_bytes(const ProductProblem& problem) {
  // 8 MiB hold the tiles of 128 x 128 that an H100's 132 multiprocessors work on at once. Four such
  // rounds leave the last, partly filled one little weight.
  constexpr std::size_t kBusyBytes = std::size_t{32} << 20;
  // More, up to two blocks a multiprocessor, made no step of resnet50 faster on an H100.
  constexpr std::size_t kMostShares = 8;
  // An H200 computes 256 products in four times the time that writing and adding their sum takes.
  constexpr std::int64_t kLeastInner = 256;
  const auto bytes = static_cast<std::size_t>(problem.rows * problem.columns) * sizeof(float);
  const std::size_t shares = std::min(
      {kMostShares, static_cast<std::size_t>(problem.inner / kLeastInner),
       std::min(kBusyBytes, problem.most_workspace_bytes) / std::max<std::size_t>(bytes, 1)});
  return shares > 1 ? shares * bytes : 0;
}

}  // namespace skyline
