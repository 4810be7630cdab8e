#include "tests/memory/conformance/conformance_device.h"

#include "memory/device/cuda_device.h"

namespace skyline {

std::unique_ptr<Device> make_conformance_device(std::size_t capacity_bytes) {
  return make_cuda_device(capacity_bytes);
}

}  // namespace skyline
