#include "framework/compute.h"

#include <cstring>

namespace skyline {

void CpuCompute::write(std::byte* to, const void* host, std::size_t bytes) {
  std::memcpy(to, host, bytes);
}

void CpuCompute::read(void* host, const std::byte* from, std::size_t bytes) {
  std::memcpy(host, from, bytes);
}

void CpuCompute::zero(std::byte* to, std::size_t bytes) { std::memset(to, 0, bytes); }

}  // namespace skyline
