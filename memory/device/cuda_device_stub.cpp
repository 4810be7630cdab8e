#include <stdexcept>

#include "memory/device/cuda_device.h"

namespace skyline {
namespace {

[[noreturn]] std::unique_ptr<Device> refuse() {
  throw std::runtime_error("[--device cuda] this build has no CUDA backend");
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t>) { refuse(); }
std::unique_ptr<Device> make_cuda_managed_device(std::optional<std::size_t>) { refuse(); }

}  // namespace skyline
