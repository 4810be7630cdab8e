#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "memory/device/device.h"

namespace skyline {

// What ranges of the cards of today commit in multiples of; a card is asked for its own.
inline constexpr std::size_t kCudaCommitBytes = std::size_t{2} << 20;

// The memory of the first CUDA device; without a capacity, all of it. A range is mapped by the
// driver's virtual memory management, in the card's own granularity (2 MiB), and grows without
// moving. An OutOfMemory also says what the card has free and what others hold of it.
// Throws std::runtime_error, one line that names the flag and the reason, when no device can be
// used; builds without the CUDA backend link a stub that throws, too.
std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t> capacity_bytes = {});

// Managed memory, which the driver moves between host and device. All that is ever asked for,
// ranges included, is at most what the card has free now, so that nothing is moved out for lack of
// room; a range holds at most half of what is left when it is reserved. Throws as above.
std::unique_ptr<Device> make_cuda_managed_device(std::optional<std::size_t> capacity_bytes = {});

}  // namespace skyline
