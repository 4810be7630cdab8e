#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "tests/cuda/cuda_backend.h"

namespace skyline {
namespace {

// Skips all tests if no device answers. Releases the device before the process ends: cuDNN's handle
// must be destroyed before its driver.
class RequireDevice final : public testing::Environment {
 public:
  void SetUp() override {
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if (found == cudaSuccess && devices > 0) return;
    GTEST_SKIP() << "tests/cuda: Skipped\nno CUDA device: "
                 << cudaGetErrorString(found == cudaSuccess ? cudaErrorNoDevice : found);
  }
  void TearDown() override { chosen_backend().reset(); }
};

[[maybe_unused]] const bool chosen = [] {
  chosen_backend() = std::make_unique<CudaBackend>();
  testing::AddGlobalTestEnvironment(new RequireDevice);
  return true;
}();

}  // namespace
}  // namespace skyline
