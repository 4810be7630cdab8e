#pragma once

#include <cstddef>
#include <memory>

#include "memory/device/device.h"

namespace skyline {

// Memory for the conformance suite, which the host may touch: the host's own, and in tests/cuda an
// emulated device's. A program links one of the two.
std::unique_ptr<Device> make_conformance_device(std::size_t capacity_bytes);

}  // namespace skyline
