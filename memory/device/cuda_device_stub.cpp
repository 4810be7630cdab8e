#include <stdexcept>

#include "memory/device/cuda_device.h"

namespace skyline {

std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t>) {
  throw std::runtime_error("[--device cuda] this build has no CUDA backend");
}

}  // namespace skyline
