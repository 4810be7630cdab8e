#include "memory/device/device_account.h"

#include <algorithm>
#include <string>

#include "memory/device/out_of_memory.h"

namespace skyline {

void DeviceAccount::require(std::size_t bytes) const {
  if (bytes > capacity_bytes_ - statistics_.reserved_bytes) refuse(bytes);
}

void DeviceAccount::refuse(std::size_t bytes) const {
  throw OutOfMemory({.where = std::string(where_),
                     .shortage = Shortage::kDevice,
                     .requested_bytes = bytes,
                     .allocated_bytes = {},
                     .reserved_bytes = statistics_.reserved_bytes,
                     .capacity_bytes = capacity_bytes_,
                     .largest_free_block_bytes = {},
                     .request = {}});
}

void DeviceAccount::refuse_range(std::size_t bytes, std::size_t reserved_bytes) const {
  throw OutOfMemory({.where = std::string(where_) + " range",
                     .shortage = Shortage::kLimit,
                     .requested_bytes = bytes,
                     .allocated_bytes = {},
                     .reserved_bytes = statistics_.reserved_bytes,
                     .capacity_bytes = reserved_bytes,
                     .largest_free_block_bytes = {},
                     .request = {}});
}

void DeviceAccount::take(std::size_t bytes) noexcept {
  statistics_.reserved_bytes += bytes;
  statistics_.peak_reserved_bytes =
      std::max(statistics_.peak_reserved_bytes, statistics_.reserved_bytes);
  ++statistics_.allocations;
}

void DeviceAccount::give_back(std::size_t bytes) noexcept {
  statistics_.reserved_bytes -= bytes;
  ++statistics_.frees;
}

}  // namespace skyline
