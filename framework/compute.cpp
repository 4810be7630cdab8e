#include "framework/compute.h"

#include <cstring>

#include "framework/engines/engine_choices.h"
#include "framework/kernel.h"
#include "framework/lanes/cpu_lanes.h"

namespace skyline {

void Compute::run(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments) {
  kernel->run(arguments);
}

CpuCompute::CpuCompute(CpuOptions options)
    : own_choices_(options.choices == nullptr ? std::make_unique<EngineChoices>() : nullptr),
      options_(options),
      lanes_(options.lanes > 1 ? std::make_unique<CpuLanes>(options) : nullptr) {
  if (own_choices_) options_.choices = own_choices_.get();
}

CpuCompute::~CpuCompute() = default;

void CpuCompute::wait() {
  if (lanes_) lanes_->queue.wait();
}

void CpuCompute::finish() noexcept {
  if (lanes_) lanes_->queue.finish();
}

void CpuCompute::write(std::byte* to, const void* host, std::size_t bytes) {
  finish();
  std::memcpy(to, host, bytes);
}

void CpuCompute::read(void* host, const std::byte* from, std::size_t bytes) {
  wait();
  std::memcpy(host, from, bytes);
}

void CpuCompute::zero(std::byte* to, std::size_t bytes) {
  finish();
  std::memset(to, 0, bytes);
}

}  // namespace skyline
