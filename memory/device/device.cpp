#include "memory/device/device.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace skyline {

void Device::fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept {
  // Guards start at any address.
  const std::size_t whole = bytes - bytes % sizeof(pattern);
  for (std::size_t i = 0; i < whole; i += sizeof(pattern)) {
    std::memcpy(to + i, &pattern, sizeof(pattern));
  }
  if (bytes == whole) return;  // nothing may have no address
  std::memcpy(to + whole, &pattern, bytes - whole);
}

void Device::read(void* host, const std::byte* from, std::size_t bytes) const noexcept {
  if (bytes > 0) std::memcpy(host, from, bytes);  // nothing may have no address
}

std::unique_ptr<StreamPool> Device::stream_pool() {
  throw std::invalid_argument("[allocator cuda-async] is a pool of the CUDA driver, got device " +
                              std::string(name()) + ", expected cuda");
}

}  // namespace skyline
