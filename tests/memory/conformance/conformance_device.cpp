#include "tests/memory/conformance/conformance_device.h"

#include "memory/device/cpu_device.h"

namespace skyline {

std::unique_ptr<Device> make_conformance_device(std::size_t capacity_bytes) {
  return std::make_unique<CpuDevice>(capacity_bytes);
}

}  // namespace skyline
