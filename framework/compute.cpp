#include "framework/compute.h"

#include <cstring>

#include "framework/lanes/cpu_lanes.h"

namespace skyline {

CpuCompute::CpuCompute(CpuOptions options)
    : options_(options),
      lanes_(options.lanes > 1 ? std::make_unique<CpuLanes>(options.lanes) : nullptr) {}

CpuCompute::~CpuCompute() = default;

void CpuCompute::wait() {
  if (lanes_) lanes_->queue.wait();
}

void CpuCompute::finish_ops() noexcept {
  if (lanes_) lanes_->queue.finish();
}

void CpuCompute::write(std::byte* to, const void* host, std::size_t bytes) {
  finish_ops();
  std::memcpy(to, host, bytes);
}

void CpuCompute::read(void* host, const std::byte* from, std::size_t bytes) {
  wait();
  std::memcpy(host, from, bytes);
}

void CpuCompute::zero(std::byte* to, std::size_t bytes) {
  finish_ops();
  std::memset(to, 0, bytes);
}

}  // namespace skyline
