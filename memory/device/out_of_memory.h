#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyline {

// Why a request for bytes was refused.
enum class Shortage {
  kDevice,         // the device has fewer free bytes than asked for
  kFragmentation,  // enough bytes are free, but not in one piece
  kLimit,          // a limit set by the user would be passed
  kInjected,       // a test asked for this failure
};

std::string_view shortage_name(Shortage shortage);

// The facts of a refused request. Unknown figures stay empty and are never printed as zero.
struct OutOfMemoryFacts {
  std::string where;  // the device, allocator or adaptor that refused
  Shortage shortage = Shortage::kDevice;
  std::size_t requested_bytes = 0;
  std::optional<std::size_t> allocated_bytes;           // held by live blocks
  std::optional<std::size_t> reserved_bytes;            // taken from the device
  std::optional<std::size_t> capacity_bytes;            // of the device, or the limit
  std::optional<std::size_t> largest_free_block_bytes;  // that the allocator could still serve
  std::optional<std::size_t> card_free_bytes;           // of a GPU, as its driver says
  std::optional<std::size_t> held_by_others_bytes;      // of a GPU: other programs, its driver
  std::string request;                                  // op and layer of the request, where known
};

// Thrown by devices, allocators and adaptors; their counters are as before the request.
class OutOfMemory : public std::runtime_error {
 public:
  explicit OutOfMemory(OutOfMemoryFacts facts);
  const OutOfMemoryFacts& facts() const noexcept { return facts_; }

 private:
  OutOfMemoryFacts facts_;
};

}  // namespace skyline
