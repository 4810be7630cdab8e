#pragma once

#include <cublasLt.h>

#include <memory>

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

}  // namespace skyline
