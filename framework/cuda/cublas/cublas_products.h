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

// Matrix products by cuBLASLt, in fp32 unless options.tf32. When a problem first appears, the
// library's heuristics choose an algorithm that needs at most product_workspace_bytes(), and others
// that serve if it fails. With options.deterministic they exclude algorithms that add partial sums
// in place, in no fixed order.
class CublasProducts {
 public:
  // Throws std::runtime_error if the library cannot start.
  explicit CublasProducts(const CudaOptions& options);
  ~CublasProducts();

  // Returns a problem's descriptors and algorithm for addresses that are multiples of so many
  // bytes. Throws std::runtime_error if the library has no algorithm.
  std::shared_ptr<PreparedProduct> prepared(const ProductProblem& problem,
                                            std::uint32_t alignment_bytes);

 private:
  // Kernels need different alignments. Nothing else about the addresses may select a kernel, so
  // that a step sums in the same order under every allocator.
  struct Key {
    ProductProblem problem;
    std::uint32_t alignment_bytes;
    auto operator<=>(const Key&) const = default;
  };

  CudaOptions options_;
  CublasLibrary library_;
  std::map<Key, std::shared_ptr<PreparedProduct>> prepared_;
};

}  // namespace skyline
