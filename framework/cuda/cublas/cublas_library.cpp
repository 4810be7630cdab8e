#include "framework/cuda/cublas/cublas_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace skyline {
namespace {

void* load() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(fmt::format("[--device cuda] {}", dlerror()));
  return library;
}

template <typename Function>
void find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  throw std::runtime_error(fmt::format("[--device cuda] cuBLAS has no {}: too old", name));
}

}  // namespace

CublasLibrary::CublasLibrary() : library_(load()) {
  find(library_, matmul, "cublasLtMatmul");
  find(library_, matmul_algo_get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(library_, matmul_desc_create, "cublasLtMatmulDescCreate");
  find(library_, matmul_desc_destroy, "cublasLtMatmulDescDestroy");
  find(library_, matmul_desc_set_attribute, "cublasLtMatmulDescSetAttribute");
  find(library_, matmul_preference_create, "cublasLtMatmulPreferenceCreate");
  find(library_, matmul_preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(library_, matmul_preference_set_attribute, "cublasLtMatmulPreferenceSetAttribute");
  find(library_, matrix_layout_create, "cublasLtMatrixLayoutCreate");
  find(library_, matrix_layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(library_, get_status_name_, "cublasLtGetStatusName");
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  find(library_, create, "cublasLtCreate");
  find(library_, destroy, "cublasLtDestroy");
  cublasLtHandle_t handle = nullptr;
  check(create(&handle), "cublasLtCreate");
  handle_ = {handle, Destroy{destroy}};
}

void CublasLibrary::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(fmt::format("[{}] {}", call, get_status_name_(status)));
}

}  // namespace skyline
