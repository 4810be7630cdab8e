#pragma once

#include <cstddef>
#include <optional>

#include "memory/device/cuda_driver.h"
#include "memory/device/device_account.h"

namespace skyline {

// Throws std::runtime_error, one line that names the flag and the reason, when no device can be
// used.
void require_cuda_device();

// What allocations and ranges of the first CUDA device have in common: the driver, and the books.
class CudaMemory {
 public:
  // Throws as require_cuda_device().
  CudaMemory(const char* where, std::optional<std::size_t> capacity_bytes);

  const CudaDriver& driver() const noexcept { return driver_; }
  DeviceAccount& account() noexcept { return account_; }
  const DeviceAccount& account() const noexcept { return account_; }
  // The unit in which the card maps memory.
  std::size_t granularity_bytes() const;
  // Throws OutOfMemory with the card's own figures when `bytes` more would pass the capacity.
  void require(std::size_t bytes) const;
  // Throws OutOfMemory with the card's own figures: it refused `bytes`.
  [[noreturn]] void refuse(std::size_t bytes) const;

 private:
  const char* where_;
  CudaDriver driver_;
  DeviceAccount account_;
};

// Device memory in the unit that granularity_bytes() says.
CUmemAllocationProp cuda_allocation_properties() noexcept;

}  // namespace skyline
