#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "memory/device/device.h"

namespace skyline {

// A row of the table of devices.
struct DeviceEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Device> (*make)(std::optional<std::size_t> capacity_bytes);
};

std::span<const DeviceEntry> device_table();

// Makes the device of a name; default capacity: the device's own. Throws std::invalid_argument for
// an unknown name, std::runtime_error for one that is not built in.
std::unique_ptr<Device> make_device(std::string_view name,
                                    std::optional<std::size_t> capacity_bytes = {});

}  // namespace skyline
