#include "framework/cuda/cublas/product.h"

#include <fmt/format.h>

#include <algorithm>

#include "framework/cuda/make_cuda_compute.h"

namespace skyline {
namespace {

// 8 MiB hold the tiles of 128 x 128 that an H100's 132 multiprocessors work on at once. Four such
// rounds leave the last, partly filled one little weight. NVIDIA recommends as much workspace for
// Hopper (cublasSetWorkspace).
constexpr std::size_t kBusyBytes = std::size_t{32} << 20;

std::size_t result_bytes(const ProductProblem& problem) {
  return static_cast<std::size_t>(problem.rows * problem.columns) * sizeof(float);
}

bool is_large(const ProductProblem& problem) { return result_bytes(problem) > kBusyBytes / 2; }

}  // namespace

std::string ProductProblem::str() const {
  return fmt::format("{} x {} and {} x {}", rows, inner, inner, columns);
}

std::size_t product_workspace_bytes(const ProductProblem& problem) {
  if (is_large(problem)) return std::min(problem.spare_bytes, problem.most_workspace_bytes);
  // More, up to two blocks a multiprocessor, made no step of resnet50 faster on an H100.
  constexpr std::size_t kMostShares = 8;
  // An H200 computes 256 products in four times the time that writing and adding their sum takes.
  constexpr std::int64_t kLeastInner = 256;
  const std::size_t bytes = result_bytes(problem);
  const std::size_t shares = std::min(
      {kMostShares, static_cast<std::size_t>(problem.inner / kLeastInner),
       std::min(kBusyBytes, problem.most_workspace_bytes) / std::max<std::size_t>(bytes, 1)});
  return shares > 1 ? shares * bytes : 0;
}

std::optional<EngineUse> use_spare_bytes(ProductProblem& problem, const CudaOptions& options) {
  if (!is_large(problem) || options.engines == nullptr) return {};
  EngineUse use{
      .problem = "product of " + problem.str(), .engine = {}, .smaller = {}, .wants_room = true};
  EngineChoices& engines = *options.engines;
  const auto limit = engines.most_workspace_bytes.find(use.problem);
  const bool is_limited = limit != engines.most_workspace_bytes.end();
  if (is_limited || options.measured) {
    // All or nothing: plans of moments that are filled to the peak need more bytes.
    const bool fits = is_limited && limit->second >= kBusyBytes;
    engines.by_problem.try_emplace(use.problem,
                                   EngineChoice{.workspace_bytes = fits ? kBusyBytes : 0});
  }
  const auto known = engines.by_problem.find(use.problem);
  if (known != engines.by_problem.end()) problem.spare_bytes = known->second.workspace_bytes;
  return use;
}

}  // namespace skyline
