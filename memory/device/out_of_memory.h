#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyline {

// Why a request was refused.
enum class Shortage {
  kDevice,         // the device has too few free bytes
  kFragmentation,  // enough bytes are free, but not contiguous
  kSegment,        // enough bytes are free, but the allocator asks the device for more at once
  kLimit,          // a limit set by the user would be exceeded
  kInjected,       // a test injected the failure
};

std::string_view shortage_name(Shortage shortage);

// The facts of a refused request. Unknown ones stay empty and are never printed as zero.
struct OutOfMemoryFacts {
  std::string where = {};  // the device, allocator or adaptor that refused
  Shortage shortage = Shortage::kDevice;
  std::size_t requested_bytes = 0;
  std::optional<std::size_t> allocated_bytes = {};           // held by live blocks
  std::optional<std::size_t> reserved_bytes = {};            // taken from the device
  std::optional<std::size_t> capacity_bytes = {};            // of the device, or the limit
  std::optional<std::size_t> largest_free_block_bytes = {};  // the largest request still possible
  std::optional<std::size_t> device_free_bytes = {};         // not taken from the device
  std::optional<std::size_t> card_free_bytes = {};           // of a GPU, as its driver reports
  // Of a GPU: by other programs and its driver.
  std::optional<std::size_t> held_by_others_bytes = {};
  std::string request = {};  // op and layer, if known
  // The limit of the system that refused, or the kernel's own words: "memory.max of cgroup /jobs is
  // reached". Replaces the shortage in the message; empty: the device's own capacity.
  std::string reason = {};
  std::optional<std::size_t> system_limit_bytes = {}, system_free_bytes = {};
};

// Thrown by devices, allocators and adaptors, with their counters as before the request.
class OutOfMemory : public std::runtime_error {
 public:
  explicit OutOfMemory(OutOfMemoryFacts facts);
  const OutOfMemoryFacts& facts() const noexcept { return facts_; }

 private:
  OutOfMemoryFacts facts_;
};

}  // namespace skyline
