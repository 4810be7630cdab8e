#pragma once

#include <memory>
#include <optional>

#include "memory/device/device.h"

namespace skyline {

// A CUDA device's memory; without a capacity, all of it. Builds without the CUDA backend link a
// stub that throws std::runtime_error naming the flag.
std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t> capacity_bytes = {});

}  // namespace skyline
