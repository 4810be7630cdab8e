#pragma once

#include <cuda.h>

namespace skyline {

// Functions of the CUDA driver that the runtime lacks. They are looked up when a device is made: a
// program linked against libcuda would not start without a driver.
struct CudaDriver {
  // Throws std::runtime_error when the driver lacks one.
  CudaDriver();

  decltype(&cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuMemAddressFree) mem_address_free = nullptr;
  decltype(&cuMemAddressReserve) mem_address_reserve = nullptr;
  decltype(&cuMemCreate) mem_create = nullptr;
  decltype(&cuMemGetAllocationGranularity) mem_get_allocation_granularity = nullptr;
  decltype(&cuMemMap) mem_map = nullptr;
  decltype(&cuMemRelease) mem_release = nullptr;
  decltype(&cuMemSetAccess) mem_set_access = nullptr;
  decltype(&cuMemUnmap) mem_unmap = nullptr;
  decltype(&cuMemsetD32) memset_d32 = nullptr;

  // Throws std::runtime_error with the call and the driver's reason unless it succeeded.
  void check(CUresult result, const char* call) const;
};

}  // namespace skyline
