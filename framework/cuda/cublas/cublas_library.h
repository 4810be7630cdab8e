#pragma once

#include <cublasLt.h>

#include <memory>

namespace skyline {

// cuBLASLt, loaded when this is made: linked, it would add 60 ms to the start of every program.
class CublasLibrary {
 public:
  // Throws std::runtime_error where the library cannot be loaded or finds no device.
  CublasLibrary();

  // Throws std::runtime_error, which names the call and the library's reason, unless it succeeded.
  void check(cublasStatus_t status, const char* call) const;
  cublasLtHandle_t handle() const noexcept { return handle_.get(); }

  // The library's functions without their prefix cublasLt.
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

  void* library_;  // stays loaded: its kernels may be running
  decltype(&cublasLtGetStatusName) get_status_name_ = nullptr;
  std::unique_ptr<cublasLtContext, Destroy> handle_;
};

}  // namespace skyline
