#include "framework/ops/connection/cudnn/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/cuda/cuda_libraries.h"

namespace skyline {
namespace {

constexpr int kTurns = 3;  // after one that is not timed

std::size_t bytes_of(const Shape& shape) {
  constexpr std::size_t kUnit = 256;
  return (static_cast<std::size_t>(shape.elements()) * sizeof(float) + kUnit - 1) / kUnit * kUnit;
}

struct Free {
  void operator()(std::byte* address) const { cudaFree(address); }
};
struct Destroy {
  void operator()(CUevent_st* event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, Destroy>;

Event make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

// Writes random values of [-1, 1): a card that multiplies zeros draws less power, so that its clock
// stays higher than in training.
void fill_randomly(CudaCompute& compute, std::byte* to, std::size_t bytes) {
  constexpr std::size_t kFloats = std::size_t{1} << 16;
  std::vector<float> some(kFloats);
  std::minstd_rand bits;
  std::uniform_real_distribution<float> value(-1, 1);
  std::ranges::generate(some, [&] { return value(bits); });
  std::size_t filled = std::min(bytes, kFloats * sizeof(float));
  compute.write(to, some.data(), filled);
  for (std::size_t more; filled < bytes; filled += more) {
    more = std::min(filled, bytes - filled);
    check_cuda(cudaMemcpyAsync(to + filled, to, more, cudaMemcpyDeviceToDevice, compute.stream()),
               "cudaMemcpyAsync");
  }
}

// The operands and the events around a run.
class Timer {
 public:
  Timer(CudaCompute& compute, ConvolutionKind kind, const Conv2dProblem& problem,
        std::byte* operands)
      : compute_(compute), kind_(kind), problem_(problem), y_(operands + bytes_of(problem.x)) {
    std::byte* weight = y_ + bytes_of(problem.y);
    std::byte* bias = weight + bytes_of(problem.weight);
    const auto of = [](std::byte* bytes) { return reinterpret_cast<float*>(bytes); };
    const bool forward = kind == ConvolutionKind::kForward;
    const bool of_input = kind == ConvolutionKind::kGradInput;
    operands_ = {.first = of(of_input ? weight : operands),
                 .second = of(forward ? weight : y_),
                 .bias = problem.bias ? of(bias) : nullptr,
                 .result = of(forward    ? y_
                              : of_input ? operands
                                         : weight),
                 .workspace = bias + bytes_of(problem.bias_shape())};
  }

  double seconds(const FoundEngine& engine) {
    run(engine);
    float fastest = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      check_cuda(cudaEventRecord(begin_.get(), compute_.stream()), "cudaEventRecord");
      run(engine);
      check_cuda(cudaEventRecord(end_.get(), compute_.stream()), "cudaEventRecord");
      check_cuda(cudaEventSynchronize(end_.get()), "cudaEventSynchronize");
      float milliseconds = 0;
      check_cuda(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()),
                 "cudaEventElapsedTime");
      fastest = turn == 0 ? milliseconds : std::min(fastest, milliseconds);
    }
    return double{fastest} / 1000;
  }

 private:
  void run(const FoundEngine& engine) {
    ConvolutionOperands operands = operands_;
    if (!engine.choice.finishes) operands.bias = nullptr;
    const CudnnDescriptor addresses = convolution_addresses(kind_, operands);
    check_cudnn(cudnnBackendExecute(compute_.libraries().cudnn().handle(), engine.plan.get(),
                                    addresses.get()),
                "cudnnBackendExecute");
    if (!engine.choice.finishes && (problem_.bias || problem_.params.relu)) touch_y();
  }
  // Reads and writes as many bytes as the pass for bias and relu.
  void touch_y() {
    const std::size_t half = bytes_of(problem_.y) / 2;
    for (int time = 0; time < 2; ++time) {
      check_cuda(cudaMemcpyAsync(y_, y_ + half, half, cudaMemcpyDeviceToDevice, compute_.stream()),
                 "cudaMemcpyAsync");
    }
  }

  CudaCompute& compute_;
  ConvolutionKind kind_;
  const Conv2dProblem& problem_;
  std::byte* y_;
  ConvolutionOperands operands_;
  Event begin_ = make_event(), end_ = make_event();
};

// Throws CudaError if the device does not even copy a byte: some errors stay for the process's
// life.
void require_device(CudaCompute& compute, const std::byte* address, ConvolutionKind kind,
                    const Conv2dProblem& problem, const FoundEngine& failed) {
  cudaGetLastError();  // or the next call reports it again
  std::byte copied;
  cudaError_t error =
      cudaMemcpyAsync(&copied, address, 1, cudaMemcpyDeviceToHost, compute.stream());
  if (error == cudaSuccess) error = cudaStreamSynchronize(compute.stream());
  if (error == cudaSuccess) return;
  throw CudaError(fmt::format("engine {} of {} {}: the device is lost", failed.choice.engine,
                              convolution_name(kind), problem.str()),
                  error);
}

}  // namespace

EngineTimes time_engines(CudaCompute& compute, ConvolutionKind kind, const Conv2dProblem& problem,
                         std::span<const FoundEngine> engines) {
  EngineTimes times{.engines = std::vector<EngineTimes::Time>(engines.size())};
  std::size_t workspace_bytes = 0;
  for (const FoundEngine& engine : engines) {
    workspace_bytes = std::max(workspace_bytes, engine.choice.workspace_bytes);
  }
  const std::size_t operand_bytes = bytes_of(problem.x) + bytes_of(problem.y) +
                                    bytes_of(problem.weight) + bytes_of(problem.bias_shape());
  const std::size_t bytes = operand_bytes + workspace_bytes;
  std::byte* address = nullptr;
  const cudaError_t taken = cudaMalloc(&address, bytes);
  if (taken == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // or the next call reports it again
    times.refused_bytes = bytes;
    return times;
  }
  check_cuda(taken, "cudaMalloc");
  const std::unique_ptr<std::byte, Free> memory(address);
  fill_randomly(compute, address, operand_bytes);
  Timer timer(compute, kind, problem, address);
  for (std::size_t k = 0; k < engines.size(); ++k) {
    try {
      times.engines[k].seconds = timer.seconds(engines[k]);
      continue;
    } catch (const CudnnError& error) {
      times.engines[k].failure = error.what();
    } catch (const CudaError& error) {
      times.engines[k].failure = error.what();
    }
    require_device(compute, address, kind, problem, engines[k]);
  }
  return times;
}

}  // namespace skyline
