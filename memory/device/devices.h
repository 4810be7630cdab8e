#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "memory/device/device.h"

namespace skyline {

// Makes the device of a name: host memory (cpu), that of a CUDA device (cuda), or addresses only,
// of any capacity (simulated). The default capacity: the device's own. Throws std::invalid_argument
// for an unknown name, std::runtime_error for one that is not built in.
std::unique_ptr<Device> make_device(std::string_view name,
                                    std::optional<std::size_t> capacity_bytes = {});

}  // namespace skyline
