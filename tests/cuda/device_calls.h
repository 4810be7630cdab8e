#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline {

// Counts how often this program asks CUDA for memory and frees it, pinned and pooled memory
// included. The emulation counts by itself; the linker wraps the real runtime's functions. cuDNN
// and cuBLASLt have a runtime of their own: the card's free bytes show that they take nothing and
// that no range grows.
struct DeviceCalls {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::size_t card_free_bytes = 0;
  bool operator==(const DeviceCalls&) const = default;
};

DeviceCalls device_calls();

}  // namespace skyline
