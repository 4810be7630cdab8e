#pragma once

#include <cuda_runtime.h>

#include <compare>
#include <map>
#include <memory>

#include "framework/cuda/cublas/cublas_library.h"
#include "framework/cuda/cublas/product.h"
#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

class PreparedProduct;

// Matrix products by cuBLASLt, in fp32 throughout unless options.tf32. An algorithm is chosen, by
// the library's heuristics, when a problem is met for the first time: one that needs no more than
// product_workspace_bytes(), and with options.deterministic none that adds up shares of the inner
// sums where they lie.
class CublasProducts {
 public:
  // Throws std::runtime_error where the library cannot start.
  explicit CublasProducts(const CudaOptions& options);
  ~CublasProducts();

  // Enqueues. Throws std::runtime_error when the library has no algorithm or refuses the product.
  void run(const ProductProblem& problem, const ProductOperands& operands, cudaStream_t stream);

 private:
  // Kernels differ in what alignment they want. Nothing else of the addresses may decide which one
  // runs: under every allocator a step sums in the same order.
  struct Key {
    ProductProblem problem;
    std::uint32_t alignment_bytes;
    auto operator<=>(const Key&) const = default;
  };

  PreparedProduct& prepared(const Key& key);

  CudaOptions options_;
  CublasLibrary library_;
  std::map<Key, std::unique_ptr<PreparedProduct>> prepared_;
};

}  // namespace skyline
