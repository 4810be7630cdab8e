#include "framework/cuda/cuda_runner.h"

#include <utility>

namespace skyline {

void CudaRunner::run(const OpCall& call, KernelCache&) {
  const OpAddresses addresses(call);
  run(call.kernel, addresses.arguments());
}

void CudaRunner::run(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments) {
  if (captured_) return captured_->run(kernel, arguments, launches_);
  kernel->run(arguments);
  ++launches_.ops;
}

void CudaRunner::flush() {
  if (captured_) captured_->end_stretch(launches_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void CudaRunner::finish() noexcept {
  try {
    flush();
  } catch (...) {
    error_ = std::current_exception();
  }
  cudaStreamSynchronize(compute_.stream());
}

RunnerFacts CudaRunner::facts() const {
  const bool captures = captured_ != nullptr;
  return {.defers = captures, .knows_kernels = captures, .launches = launches_};
}

}  // namespace skyline
