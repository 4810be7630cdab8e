// Captures and graphs of the emulated runtime. One stream captures at a time, and work of other
// streams cannot join, which is all that the program needs.

#include "tests/cuda_emulation/capture.h"

#include <memory>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/device_memory.h"
#include "tests/cuda_emulation/emulation.h"

namespace {

using Works = std::vector<std::function<void()>>;

struct Captured {
  cudaStream_t stream;
  Works works;
  bool spoiled = false;
};

std::unique_ptr<Captured>& captured() {
  static auto& instance = *new std::unique_ptr<Captured>;
  return instance;
}

}  // namespace

struct CUgraph_st {
  std::shared_ptr<const Works> works;
};
struct CUgraphExec_st {
  std::shared_ptr<const Works> works;
};

namespace cuda_emulation {

bool is_capturing(cudaStream_t stream) { return captured() && captured()->stream == stream; }

bool is_capturing() { return captured() != nullptr; }

cudaError_t capture(std::function<void()> work) {
  if (captured()->spoiled) return cudaErrorStreamCaptureInvalidated;
  captured()->works.push_back(std::move(work));
  return cudaSuccess;
}

cudaError_t spoil_capture(cudaError_t error) {
  captured()->spoiled = true;
  return error;
}

cudaError_t health_outside_captures() {
  return is_capturing() ? spoil_capture(cudaErrorStreamCaptureUnsupported) : health();
}

}  // namespace cuda_emulation

using cuda_emulation::health;
using cuda_emulation::health_outside_captures;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  if (stream == nullptr) return cudaErrorStreamCaptureUnsupported;
  captured() = std::make_unique<Captured>(Captured{.stream = stream, .works = {}});
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!cuda_emulation::is_capturing(stream)) return cudaErrorInvalidValue;
  const std::unique_ptr<Captured> ended = std::move(captured());
  if (ended->spoiled) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st{std::make_shared<const Works>(std::move(ended->works))};
  return health();
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
  *executable = new CUgraphExec_st{graph->works};
  return cudaSuccess;
}

// The graph may be destroyed while it runs.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  ++cuda_emulation::counts().graphs;
  return cuda_emulation::enqueue_work(stream, [works = executable->works] {
    for (const auto& work : *works) work();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
