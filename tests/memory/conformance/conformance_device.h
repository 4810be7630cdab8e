#pragma once

#include <cstddef>
#include <memory>

#include "memory/device/device.h"

namespace skyline {

// Host-accessible memory for the conformance suite: the host's own, or in tests/cuda an emulated
// device's. A program links one of them.
std::unique_ptr<Device> make_conformance_device(std::size_t capacity_bytes);

}  // namespace skyline
