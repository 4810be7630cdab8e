#pragma once

#include <cstddef>
#include <memory>

#include "memory/device/device.h"

namespace skyline {

// The device of the conformance suite: the host, or in tests/cuda a CUDA device, emulated or real.
// A program links one of them.
std::unique_ptr<Device> make_conformance_device(std::size_t capacity_bytes);

}  // namespace skyline
