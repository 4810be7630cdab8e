#pragma once

#include <exception>
#include <memory>

#include "framework/cuda/captured_steps.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/runner.h"

namespace skyline {

// Enqueues ops on a CUDA device's stream: one by one, or as graphs of captured stretches, before
// which it holds ops back.
class CudaRunner final : public Runner {
 public:
  explicit CudaRunner(CudaCompute& compute) : compute_(compute) {}
  // From now on, captures stretches of ops that return unchanged.
  void capture(cudaStream_t stream) { captured_ = std::make_unique<CapturedSteps>(stream); }

  void run(const OpCall& call, KernelCache& kernels) override;
  // As run(), of a kernel without a context.
  void run(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments);
  void wait() override { compute_.wait(); }
  void finish() noexcept override;
  void end_step(const StepGraph&) override { flush(); }
  RunnerFacts facts() const override;

  // Enqueues what run() holds back. Throws the error that finish() has kept, once.
  void flush();

 private:
  CudaCompute& compute_;
  std::unique_ptr<CapturedSteps> captured_;  // null: ops run one by one
  Launches launches_;
  std::exception_ptr error_;  // kept by finish()
};

}  // namespace skyline
