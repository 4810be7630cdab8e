#include "memory/device/cuda_driver.h"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <stdexcept>

namespace skyline {
namespace {

constexpr unsigned kDriverVersion = 12000;  // selects the variants of the functions

template <typename Function>
void find(Function*& function, const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &address, kDriverVersion, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    throw std::runtime_error(
        fmt::format("[--device cuda] the driver has no {}: it is too old", name));
  }
  function = reinterpret_cast<Function*>(address);
}

}  // namespace

CudaDriver::CudaDriver() {
  find(device_get_attribute, "cuDeviceGetAttribute");
  find(get_error_string, "cuGetErrorString");
  find(mem_address_free, "cuMemAddressFree");
  find(mem_address_reserve, "cuMemAddressReserve");
  find(mem_create, "cuMemCreate");
  find(mem_get_allocation_granularity, "cuMemGetAllocationGranularity");
  find(mem_map, "cuMemMap");
  find(mem_release, "cuMemRelease");
  find(mem_set_access, "cuMemSetAccess");
  find(mem_unmap, "cuMemUnmap");
  find(memset_d32, "cuMemsetD32");
}

void CudaDriver::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return;
  const char* reason = nullptr;
  get_error_string(result, &reason);
  throw std::runtime_error(
      fmt::format("[{}] {}", call, reason != nullptr ? reason : "unknown error"));
}

}  // namespace skyline
