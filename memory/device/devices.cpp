#include "memory/device/devices.h"

#include <fmt/core.h>

#include <stdexcept>

#include "memory/device/cpu_device.h"
#include "memory/device/cuda_device.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

template <typename T>
std::unique_ptr<Device> make(std::optional<std::size_t> capacity_bytes) {
  return std::make_unique<T>(capacity_bytes);
}

constexpr struct {
  std::string_view name;
  std::unique_ptr<Device> (*make)(std::optional<std::size_t> capacity_bytes);
} kDevices[] = {
    {"cpu", make<CpuDevice>},
    {"cuda", make_cuda_device},
    {"simulated", make<SimulatedDevice>},
};

}  // namespace

std::unique_ptr<Device> make_device(std::string_view name,
                                    std::optional<std::size_t> capacity_bytes) {
  std::string known;
  for (const auto& entry : kDevices) {
    if (entry.name == name) return entry.make(capacity_bytes);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
  }
  throw std::invalid_argument(
      fmt::format("[device] unknown name, got {}, expected {}", name, known));
}

}  // namespace skyline
