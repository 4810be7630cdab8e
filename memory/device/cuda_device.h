#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "memory/device/device.h"

namespace skyline {

// The commit unit of today's cards. A device asks its card for the actual one.
inline constexpr std::size_t kCudaCommitBytes = std::size_t{2} << 20;

// Returns the current CUDA device; default capacity: what is free of it now, less 256 MiB for
// kernels that libraries load later. Ranges use the driver's virtual memory management, in the
// card's granularity (2 MiB), and grow without moving. On a card without it, a range takes all its
// memory when it is reserved, and address_bytes() is half of what is left, so that unplanned
// requests find the other half. OutOfMemory also says what the card has free and what others hold
// of it. Throws std::runtime_error, one line with the flag and the reason, when no device can be
// used. A build without the CUDA backend links a stub that throws.
std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t> capacity_bytes = {});

}  // namespace skyline
