#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline {

// How often this program has asked CUDA for memory and given it back, pinned and pooled memory
// included. The emulation counts by itself; the real runtime's functions are wrapped by the linker.
// cuDNN and cuBLASLt have a runtime of their own: that they take nothing, and that no range grows,
// the card's free bytes tell.
struct DeviceCalls {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::size_t card_free_bytes = 0;
  bool operator==(const DeviceCalls&) const = default;
};

DeviceCalls device_calls();

}  // namespace skyline
