#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <compare>
#include <map>
#include <memory>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

// cuBLASLt, loaded by the constructor. Linking it would add 60 ms to the start of every program.
class CublasLibrary {
 public:
  // Throws std::runtime_error if the library cannot be loaded or finds no device.
  CublasLibrary();

  // Throws std::runtime_error with the call and the library's reason unless `status` is success.
  void check(cublasStatus_t status, const char* call) const;
  cublasLtHandle_t handle() const noexcept { return handle_.get(); }

  // The library's functions, named without their prefix cublasLt.
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy = nullptr;

 private:
  struct Destroy {
    decltype(&cublasLtDestroy) destroy;
    void operator()(cublasLtHandle_t handle) const { destroy(handle); }
  };

  void* library_;  // never closed: its kernels may be running
  decltype(&cublasLtGetStatusName) get_status_name_ = nullptr;
  std::unique_ptr<cublasLtContext, Destroy> handle_;
};

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
