#include "framework/compute.h"

#include <cstring>

#include "framework/engines/engine_choices.h"
#include "framework/lanes/lane_runner.h"

namespace skyline {
namespace {

std::unique_ptr<Runner> make_runner(const CpuOptions& options) {
  if (options.lanes > 1) return std::make_unique<LaneRunner>(options);
  return std::make_unique<InlineRunner>();
}

}  // namespace

CpuCompute::CpuCompute(CpuOptions options)
    : own_choices_(options.choices == nullptr ? std::make_unique<EngineChoices>() : nullptr),
      options_(options),
      runner_(make_runner(options)) {
  if (own_choices_) options_.choices = own_choices_.get();
}

CpuCompute::~CpuCompute() = default;

void CpuCompute::wait() { runner_->wait(); }

void CpuCompute::write(std::byte* to, const void* host, std::size_t bytes) {
  runner_->finish();
  std::memcpy(to, host, bytes);
}

void CpuCompute::read(void* host, const std::byte* from, std::size_t bytes) {
  wait();
  std::memcpy(host, from, bytes);
}

void CpuCompute::zero(std::byte* to, std::size_t bytes) {
  runner_->finish();
  std::memset(to, 0, bytes);
}

}  // namespace skyline
