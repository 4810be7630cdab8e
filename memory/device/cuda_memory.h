// The driver and the account of the current CUDA device.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <optional>

#include "memory/device/device_account.h"

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

// The default capacity leaves this much free, because libraries load kernels when they first run.
inline constexpr std::size_t kCudaReservedBytes = std::size_t{256} << 20;

// Throws std::runtime_error, one line with the flag and the reason, when no device can be used.
void require_cuda_device();

// The driver and the accounting that allocations and ranges of the current CUDA device share.
class CudaMemory {
 public:
  // Default capacity: what is free now, less kCudaReservedBytes. Throws what require_cuda_device()
  // throws, and std::runtime_error if no more is free.
  explicit CudaMemory(std::optional<std::size_t> capacity_bytes);

  const CudaDriver& driver() const noexcept { return driver_; }
  DeviceAccount& account() noexcept { return account_; }
  const DeviceAccount& account() const noexcept { return account_; }
  // True if the card maps memory at addresses that were reserved before.
  bool has_virtual_memory() const;
  // Returns the unit in which the card maps memory.
  std::size_t granularity_bytes() const;
  // Throws OutOfMemory with the card's figures when `bytes` more would exceed the capacity.
  void require(std::size_t bytes) const;
  // Throws OutOfMemory with the card's figures: it refused `bytes`.
  [[noreturn]] void refuse(std::size_t bytes) const;

 private:
  CudaDriver driver_;
  DeviceAccount account_;
};

// Returns the number of the thread's current device.
int current_cuda_device() noexcept;

// Returns the stream of the current device on which the program computes. What memory needs of that
// order (memory that is allocated and freed in stream order) uses it, too. It neither waits for the
// default stream nor lets it wait. Made by the first call, never destroyed, because the runtime may
// end before static objects. Throws std::runtime_error.
// Thread rule: one thread at a time.
cudaStream_t cuda_stream();

// Returns the properties of its memory.
CUmemAllocationProp cuda_allocation_properties() noexcept;

}  // namespace skyline
