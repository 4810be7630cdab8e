#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace skyline {

// Counts how often this program asks CUDA for memory and frees it, pinned and pooled memory
// included. The emulation counts by itself; the linker wraps the real runtime's functions. The
// device's own statistics count what its ranges ask of the driver.
struct DeviceCalls {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  // Device memory that the program holds. Only the emulation knows: what is free on a card also
  // changes with other processes, and with kernels that are loaded when they first run.
  std::optional<std::size_t> held_bytes;
  bool operator==(const DeviceCalls&) const = default;
};

DeviceCalls device_calls();

// Returns the kernels enqueued so far outside graphs. Only the emulation counts them.
std::optional<std::uint64_t> kernels_outside_graphs();

}  // namespace skyline
