// Stands in for libcublasLt on machines without a card: offers algorithms and fails as a test
// wants.

#include "tests/cuda/scripted_cublas.h"

#include <cublasLt.h>

#include <cstring>
#include <utility>

namespace {

skyline::tests::ScriptedCublas script;

// The number of an algorithm that scripted heuristics have offered.
int number_of(const cublasLtMatmulAlgo_t& algorithm) { return static_cast<int>(algorithm.data[0]); }

}  // namespace

extern "C" {

skyline::tests::ScriptedCublas* scripted_cublas() { return &script; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(&script);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INTERNAL_ERROR ? "CUBLAS_STATUS_INTERNAL_ERROR" : "another";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t,
                                        cudaDataType_t) {
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(&script);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t) {
  if (name == CUBLASLT_MATMUL_DESC_EPILOGUE) std::memcpy(&script.epilogue, value, sizeof(int));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(&script);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* value, size_t bytes) {
  if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    std::memcpy(&script.most_workspace_bytes, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t,
                                          uint64_t, int64_t) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(&script);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = 0;
  for (int k = 0; k < script.offered && k < most; ++k, ++*found) {
    results[k].algo.data[0] = static_cast<uint64_t>(k);
    results[k].state =
        script.invalid.contains(k) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                              cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t,
                              const void*, const void*, cublasLtMatrixLayout_t, void*,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, size_t workspace_bytes, cudaStream_t) {
  script.run.push_back(number_of(*algorithm));
  script.workspace = workspace;
  script.workspace_bytes = workspace_bytes;
  return script.failing.contains(script.run.back()) ? CUBLAS_STATUS_INTERNAL_ERROR
                                                    : CUBLAS_STATUS_SUCCESS;
}
}
