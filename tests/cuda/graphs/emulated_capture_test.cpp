// What the emulated runtime refuses while a stream captures, as a device does.
#include <cuda.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "framework/cuda/launch.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

__global__ void add_kernel(int* values, int more) { values[threadIdx.x] += more; }

class EmulatedCapture : public testing::Test {
 protected:
  static constexpr unsigned kCount = 32;
  static constexpr std::size_t kBytes = kCount * sizeof(int);

  void SetUp() override {
    check_cuda(cudaMalloc(&values_, kBytes), "cudaMalloc");
    check_cuda(cudaMalloc(&spare_, kBytes), "cudaMalloc");
    check_cuda(cudaMallocHost(&pinned_, kBytes), "cudaMallocHost");
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    compute_.zero(reinterpret_cast<std::byte*>(values_), kBytes);
    compute_.wait();
  }
  void TearDown() override {
    cudaEventDestroy(event_);
    cudaFreeHost(pinned_);
    cudaFree(spare_);
    cudaFree(values_);
  }
  cudaStream_t stream() const { return compute_.stream(); }
  void begin() const {
    ASSERT_EQ(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  void add(int more) { launch(compute_, 1, kCount, add_kernel, values_, more); }
  int first_value() {
    int value = 0;
    compute_.read(&value, reinterpret_cast<const std::byte*>(values_), sizeof value);
    return value;
  }

  cuda_emulation::Emulated emulated_{{}};
  CudaCompute compute_{{}};
  int *values_ = nullptr, *spare_ = nullptr, *pinned_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(EmulatedCapture, RunsNothingUntilTheGraphIsLaunched) {
  begin();
  add(1);
  EXPECT_EQ(cudaMemsetAsync(spare_, 0, kBytes, stream()), cudaSuccess);
  add(2);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream(), &graph), cudaSuccess);
  EXPECT_EQ(first_value(), 0);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  const cuda_emulation::Counts before = cuda_emulation::counts();
  for (int time = 1; time <= 3; ++time) {
    EXPECT_EQ(cudaGraphLaunch(executable, stream()), cudaSuccess);
    EXPECT_EQ(first_value(), 3 * time);
  }
  EXPECT_EQ(cuda_emulation::counts().graphs - before.graphs, 3u);
  EXPECT_EQ(cuda_emulation::counts().kernels, before.kernels);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(EmulatedCapture, RefusesWhatADeviceRefusesAndIsSpoiledByIt) {
  const cudaStream_t own = stream();
  void* address = nullptr;
  std::vector<int> host(kCount);
  cudaStream_t other = nullptr;
  cudaGraphExec_t none = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "cudaStreamCreate");
  check_cuda(cudaEventRecord(event_, other), "cudaEventRecord");
  const std::vector<std::pair<std::string, std::function<cudaError_t()>>> calls = {
      {"cudaMalloc", [&] { return cudaMalloc(&address, 8); }},
      {"cudaFree", [&] { return cudaFree(spare_); }},
      {"cudaMallocHost", [&] { return cudaMallocHost(&address, 8); }},
      {"cudaFreeHost", [&] { return cudaFreeHost(pinned_); }},
      {"cudaMallocFromPoolAsync", [&] { return cudaMallocFromPoolAsync(&address, 8, {}, own); }},
      {"cudaFreeAsync", [&] { return cudaFreeAsync(spare_, own); }},
      {"cudaMemcpy", [&] { return cudaMemcpy(values_, spare_, 8, cudaMemcpyDeviceToDevice); }},
      {"a copy from pageable memory",
       [&] { return cudaMemcpyAsync(values_, host.data(), 8, cudaMemcpyHostToDevice, own); }},
      {"a copy to pageable memory",
       [&] { return cudaMemcpyAsync(host.data(), values_, 8, cudaMemcpyDeviceToHost, own); }},
      {"the default stream", [&] { return cudaMemsetAsync(values_, 0, 8, nullptr); }},
      {"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }},
      {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(own); }},
      {"cudaStreamQuery", [&] { return cudaStreamQuery(own); }},
      {"cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(own, event_); }},
      {"cudaEventSynchronize", [&] { return cudaEventSynchronize(event_); }},
      {"cudaEventQuery", [&] { return cudaEventQuery(event_); }},
      {"cudaEventRecord", [&] { return cudaEventRecord(event_, own); }},
      {"cudaStreamCreate",
       [&] { return cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking); }},
      {"a capture in a capture",
       [&] { return cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal); }},
      {"cudaGraphLaunch", [&] { return cudaGraphLaunch(none, own); }},
  };
  for (const auto& [name, call] : calls) {
    begin();
    add(1);
    EXPECT_GE(static_cast<int>(call()), 900) << name;
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(own, &graph), cudaErrorStreamCaptureInvalidated) << name;
    EXPECT_EQ(graph, nullptr) << name;
  }
  EXPECT_EQ(first_value(), 0) << "nothing of the captures ran";
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(EmulatedCapture, RefusesTheDriversMemoryCalls) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = {CU_MEM_ALLOCATION_TYPE_PINNED,
                                          {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const std::vector<std::function<CUresult()>> calls = {
      [&] { return cuMemAddressReserve(&range, 2 << 20, 2 << 20, 0, 0); },
      [&] { return cuMemCreate(&handle, 2 << 20, &properties, 0); },
      [&] { return cuMemMap(range, 2 << 20, 0, handle, 0); },
      [&] { return cuMemSetAccess(range, 2 << 20, &access, 1); },
      [&] { return cuMemUnmap(range, 2 << 20); },
      [&] { return cuMemsetD32(reinterpret_cast<CUdeviceptr>(values_), 0, 1); },
  };
  for (const auto& call : calls) {
    begin();
    EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream(), &graph), cudaErrorStreamCaptureInvalidated);
  }
}

TEST_F(EmulatedCapture, IsRefusedOnTheDefaultStream) {
  EXPECT_NE(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(stream(), &graph), cudaSuccess) << "that never began";
}

// A device would let it run beside the capture.
TEST_F(EmulatedCapture, RefusesWorkOnTheDefaultStream) {
  begin();
  try {
    launch_on(nullptr, 1, kCount, add_kernel, values_, 1);
    ADD_FAILURE() << "the launch was taken";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorStreamCaptureImplicit);
  }
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream(), &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(first_value(), 0);
}

// Another stream goes on.
TEST_F(EmulatedCapture, LeavesOtherStreamsAlone) {
  cudaStream_t other = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "cudaStreamCreate");
  begin();
  EXPECT_EQ(cudaMemsetAsync(values_, 1, kBytes, other), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream(), &graph), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(first_value(), 0x01010101);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

}  // namespace
}  // namespace skyline
