#include "tests/cuda_emulation/emulation.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/launch.h"
#include "framework/ops/connection/convolution_cuda.h"

// These kernels use launch.h like those of the framework.

namespace skyline {
namespace {

using cuda_emulation::Emulated;
using cuda_emulation::StreamOrder;
using cuda_emulation::ThreadOrder;
using testing::HasSubstr;

constexpr unsigned kBlock = 96;  // three warps

// Device memory that belongs to the test.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(CudaCompute& compute, const std::vector<T>& values)
      : compute_(compute), count_(values.size()) {
    check_cuda(cudaMalloc(&values_, count_ * sizeof(T)), "cudaMalloc");
    compute.write(reinterpret_cast<std::byte*>(values_), values.data(), count_ * sizeof(T));
  }
  ~DeviceArray() { cudaFree(values_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() { return values_; }
  std::vector<T> read() {
    std::vector<T> host(count_);
    compute_.read(host.data(), reinterpret_cast<const std::byte*>(values_), count_ * sizeof(T));
    return host;
  }

 private:
  CudaCompute& compute_;
  std::size_t count_;
  T* values_ = nullptr;
};

std::vector<int> iota(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// Each block reverses its part through shared memory.
__global__ void reverse_kernel(int* values) {
  __shared__ int part[kBlock];
  int* mine = values + blockIdx.x * kBlock;
  part[threadIdx.x] = mine[threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] = part[kBlock - 1 - threadIdx.x];
}

__global__ void reverse_without_barrier_kernel(int* values) {
  __shared__ int part[kBlock];
  part[threadIdx.x] = values[threadIdx.x];
  values[threadIdx.x] = part[kBlock - 1 - threadIdx.x];
}

// sums[block] = the sum of the block's part, by shuffles and one barrier.
__global__ void sum_kernel(const int* values, int* sums) {
  __shared__ int of_warps[kBlock / 32];
  int sum = values[blockIdx.x * kBlock + threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = of_warps[0] + of_warps[1] + of_warps[2];
}

// Shared memory as a block finds it.
__global__ void shows_shared_kernel(int* values) {
  __shared__ int left[kBlock];
  values[blockIdx.x * kBlock + threadIdx.x] = left[threadIdx.x];
  __syncthreads();
  left[threadIdx.x] = static_cast<int>(threadIdx.x);
}

template <typename T>
__device__ void take_larger(T& value) {
  __shared__ T largest;  // should begin as the smallest number
  if (value > largest) largest = value;
  __syncthreads();
  value = largest;
}

__global__ void largest_kernel(int* values) { take_larger(values[threadIdx.x]); }

__global__ void first_of_the_rest_kernel(int* values) {
  const int next = __shfl_down_sync(~0u, values[threadIdx.x], 1);
  values[threadIdx.x] = next;
}

__global__ void leaves_early_kernel(int*) {
  if (threadIdx.x == 5) return;
  __syncthreads();
}

__global__ void different_barriers_kernel(int*) {
  if (threadIdx.x < 5) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void lane_left_kernel(int* values) {
  if (threadIdx.x == 7) return;
  values[threadIdx.x] = __shfl_xor_sync(~0u, values[threadIdx.x], 1);
}

// The kernel runs on 40 threads, so the second warp has 8.
__global__ void reads_no_lane_kernel(int* values) {
  const unsigned mask = threadIdx.x < 32 ? ~0u : 0xFFu;
  values[threadIdx.x] = __shfl_down_sync(mask, values[threadIdx.x], 1);
}

__global__ void full_mask_kernel(int* values) {
  values[threadIdx.x] = __shfl_xor_sync(~0u, values[threadIdx.x], 1);
}

class EmulatedThreads : public testing::TestWithParam<ThreadOrder> {
 protected:
  Emulated emulated_{{.threads = GetParam(), .seed = 3}};
  CudaCompute compute_{{}};
};

TEST_P(EmulatedThreads, WaitAtBarriers) {
  DeviceArray<int> values(compute_, iota(3 * kBlock));
  launch(compute_, 3, kBlock, reverse_kernel, values.get());
  const std::vector<int> got = values.read();
  for (unsigned i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i], static_cast<int>(i / kBlock * kBlock + kBlock - 1 - i % kBlock));
  }
}

TEST_P(EmulatedThreads, ExchangeWithinWarps) {
  DeviceArray<int> values(compute_, iota(2 * kBlock)), sums(compute_, {0, 0});
  launch(compute_, 2, kBlock, sum_kernel, values.get(), sums.get());
  EXPECT_EQ(sums.read(), (std::vector<int>{95 * 96 / 2, 95 * 96 / 2 + 96 * 96}));
}

TEST_P(EmulatedThreads, ShuffleDownKeepsTheLastLane) {
  DeviceArray<int> values(compute_, iota(64));
  launch(compute_, 1, 64, first_of_the_rest_kernel, values.get());
  const std::vector<int> got = values.read();
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[30], 31);
  EXPECT_EQ(got[31], 31);
  EXPECT_EQ(got[32], 33);
}

TEST_P(EmulatedThreads, SeeTheirIndices) {
  DeviceArray<int> hits(compute_, std::vector<int>(1000));
  for_each_index(compute_, 1000, [p = hits.get()](std::int64_t i) { p[i] += static_cast<int>(i); });
  EXPECT_EQ(hits.read(), iota(1000));
}

INSTANTIATE_TEST_SUITE_P(Orders, EmulatedThreads,
                         testing::Values(ThreadOrder::kForward, ThreadOrder::kBackward,
                                         ThreadOrder::kShuffled));

TEST(EmulatedShared, IsPoisonForEveryBlock) {
  for (const auto& [order, poison] : {std::pair{ThreadOrder::kForward, 0xEEEEEEEEu},
                                      std::pair{ThreadOrder::kBackward, 0x7F7F7F7Fu}}) {
    Emulated emulated({.threads = order});
    CudaCompute compute({});
    DeviceArray<int> values(compute, iota(3 * kBlock));
    launch(compute, 3, kBlock, shows_shared_kernel, values.get());
    EXPECT_THAT(values.read(), testing::Each(static_cast<int>(poison)));
  }
}

// In templates, too.
TEST(EmulatedShared, ShowsAMissingFirstValue) {
  const auto run = [](ThreadOrder order) {
    Emulated emulated({.threads = order});
    CudaCompute compute({});
    DeviceArray<int> values(compute, iota(kBlock));
    launch(compute, 1, kBlock, largest_kernel, values.get());
    return values.read()[0];
  };
  EXPECT_EQ(run(ThreadOrder::kForward), static_cast<int>(kBlock) - 1) << "smaller poison";
  EXPECT_EQ(run(ThreadOrder::kBackward), 0x7F7F7F7F) << "larger poison";
}

TEST(EmulatedThreadsOrder, ShowsAMissingBarrier) {
  const auto run = [](ThreadOrder order) {
    Emulated emulated({.threads = order});
    CudaCompute compute({});
    DeviceArray<int> values(compute, iota(kBlock));
    launch(compute, 1, kBlock, reverse_without_barrier_kernel, values.get());
    return values.read();
  };
  EXPECT_NE(run(ThreadOrder::kForward), run(ThreadOrder::kBackward));
}

// Returns the error reported when waiting for a faulty kernel.
std::string fault_of(unsigned threads, void (*kernel)(int*)) {
  Emulated emulated({});
  CudaCompute compute({});
  DeviceArray<int> values(compute, iota(threads));
  launch(compute, 1, threads, kernel, values.get());
  try {
    values.read();
  } catch (const CudaError& error) {
    return error.what();
  }
  return "none";
}

TEST(EmulatedThreadsFault, NamesBarriersThatNotAllReach) {
  EXPECT_THAT(fault_of(kBlock, leaves_early_kernel), HasSubstr("have left while others wait"));
  EXPECT_THAT(fault_of(kBlock, different_barriers_kernel), HasSubstr("different barriers"));
  EXPECT_THAT(fault_of(kBlock, lane_left_kernel), HasSubstr("lanes of a mask have left"));
  EXPECT_THAT(fault_of(40, reads_no_lane_kernel), HasSubstr("a lane that no thread is"));
  EXPECT_THAT(fault_of(40, full_mask_kernel), HasSubstr("a mask names lanes that no thread is"));
  EXPECT_EQ(fault_of(64, full_mask_kernel), "none");
  EXPECT_THAT(fault_of(kBlock, leaves_early_kernel), HasSubstr("emulation_test.cpp:"));
  EXPECT_EQ(fault_of(kBlock, reverse_kernel), "none");  // the other threads' fibers are abandoned
}

TEST(EmulatedThreadsFault, StaysWithTheContext) {
  {
    Emulated emulated({});
    CudaCompute compute({});
    DeviceArray<int> values(compute, iota(kBlock));
    launch(compute, 1, kBlock, leaves_early_kernel, values.get());
    EXPECT_THROW(compute.wait(), CudaError);
    void* address = nullptr;
    EXPECT_EQ(cudaMalloc(&address, 1), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    EXPECT_THROW(launch(compute, 1, kBlock, reverse_kernel, values.get()), CudaError);
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "of another context";
}

// for_each_index takes as many blocks as needed, like for_each_vector and the kernels of rows.
TEST(EmulatedGrids, HoldMoreThan65535BlocksAlongX) {
  Emulated emulated({.threads = ThreadOrder::kBackward});
  CudaCompute compute({});
  constexpr std::int64_t kCount = std::int64_t{kMostBlocks + 1} * kThreads + 1;
  EXPECT_EQ(blocks_for(kCount).x, kMostBlocks + 2);
  DeviceArray<std::int64_t> seen(compute, {0, kCount});  // how many, and the last one
  for_each_index(compute, kCount, [seen = seen.get()](std::int64_t i) {
    ++seen[0];
    seen[1] -= i == seen[1] - 1;
  });
  EXPECT_EQ(seen.read(), (std::vector<std::int64_t>{kCount, 0}));
}

TEST(EmulatedThreadsFault, RefusesBlocksThatNoDeviceRuns) {
  Emulated emulated({});
  CudaCompute compute({});
  EXPECT_THROW(launch(compute, dim3(1, kMostBlocks + 1), 32, reverse_kernel, nullptr), CudaError);
  EXPECT_THROW(launch(compute, 1, 1025, reverse_kernel, nullptr), CudaError);
  EXPECT_THROW(launch(compute, 0, 32, reverse_kernel, nullptr), CudaError);
}

__global__ void add_one_kernel(int* values) { values[threadIdx.x] += 1; }

// A copy on another stream, with or without the event that orders it.
class EmulatedStreams : public testing::Test {
 protected:
  static constexpr std::size_t kCount = 32, kBytes = kCount * sizeof(int);

  void SetUp() override {
    check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "create");
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "create");
    check_cuda(cudaMallocHost(&pinned_, kBytes), "pinned");
    std::fill_n(pinned_, kCount, 10);
  }
  void TearDown() override {
    cudaFreeHost(pinned_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(copies_);
  }
  void copy_in(int* to) {
    check_cuda(cudaMemcpyAsync(to, pinned_, kBytes, cudaMemcpyHostToDevice, copies_), "copy");
  }

  CudaCompute compute_{{}};
  cudaStream_t copies_ = nullptr;
  cudaEvent_t event_ = nullptr;
  int* pinned_ = nullptr;
};

TEST_F(EmulatedStreams, CopyTooLateWithoutAnEvent) {
  Emulated emulated({.streams = StreamOrder::kOthersLast});
  for (const bool ordered : {true, false}) {
    DeviceArray<int> values(compute_, std::vector<int>(kCount));
    copy_in(values.get());
    cudaEventRecord(event_, copies_);
    if (ordered) cudaStreamWaitEvent(compute_.stream(), event_);
    launch(compute_, 1, kCount, add_one_kernel, values.get());
    EXPECT_EQ(values.read() == std::vector<int>(kCount, 11), ordered);
    cudaStreamSynchronize(copies_);
  }
}

TEST_F(EmulatedStreams, CopyTooEarlyWithoutAnEvent) {
  Emulated emulated({.streams = StreamOrder::kOthersFirst});
  for (const bool ordered : {true, false}) {
    DeviceArray<int> values(compute_, std::vector<int>(kCount));
    launch(compute_, 1, kCount, add_one_kernel, values.get());
    cudaEventRecord(event_, compute_.stream());
    if (ordered) cudaStreamWaitEvent(copies_, event_);
    copy_in(values.get());
    cudaStreamSynchronize(compute_.stream());
    cudaStreamSynchronize(copies_);
    EXPECT_EQ(values.read() == std::vector<int>(kCount, 10), ordered);
  }
}

// The default stream waits for streams that are not made as cudaStreamNonBlocking, and they for it.
TEST_F(EmulatedStreams, BlockingOnesNeedNoEvents) {
  cudaStreamDestroy(copies_);
  EXPECT_EQ(cudaStreamCreateWithFlags(&copies_, 7), cudaErrorInvalidValue);
  check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamDefault), "create");
  for (const StreamOrder order : {StreamOrder::kOthersLast, StreamOrder::kOthersFirst}) {
    Emulated emulated({.streams = order});
    DeviceArray<int> values(compute_, std::vector<int>(kCount));
    copy_in(values.get());
    check_cuda(cudaMemsetAsync(values.get(), 0, sizeof(int), nullptr), "fill");
    cudaStreamSynchronize(nullptr);
    EXPECT_EQ(values.read()[1], 10);
    EXPECT_EQ(values.read()[0], 0);
    check_cuda(cudaMemsetAsync(values.get(), 0, kBytes, nullptr), "fill");
    copy_in(values.get());
    cudaStreamSynchronize(copies_);
    EXPECT_EQ(values.read(), std::vector<int>(kCount, 10));
    EXPECT_EQ(cuda_emulation::counts().on_default_stream, 2u);
  }
}

TEST_F(EmulatedStreams, PinnedMemoryIsReadWhenTheCopyRuns) {
  DeviceArray<int> values(compute_, std::vector<int>(kCount));
  copy_in(values.get());
  std::fill_n(pinned_, kCount, 20);
  cudaStreamSynchronize(copies_);
  EXPECT_EQ(values.read(), std::vector<int>(kCount, 20));
}

TEST(EmulatedMemoryDeathTest, CanBeClosedToTheHost) {
  Emulated emulated({.protect = true});
  CudaCompute compute({});
  DeviceArray<int> values(compute, iota(kBlock));
  launch(compute, 1, kBlock, reverse_kernel, values.get());
  EXPECT_EQ(values.read()[0], static_cast<int>(kBlock) - 1);
  EXPECT_DEATH(*const_cast<volatile int*>(values.get()) = 1, "");
}

TEST(EmulatedLibraries, TakeOperandsOnTheDeviceOnly) {
  Emulated emulated({});
  CudaCompute compute({});
  const auto floats = [&compute](std::size_t count) {
    return std::make_unique<DeviceArray<float>>(compute, std::vector<float>(count, 1));
  };
  const ProductProblem problem{.rows = 2, .columns = 3, .inner = 4};
  const auto a = floats(8), b = floats(12), c = floats(6), little = floats(5);
  const auto workspace = floats(product_workspace_bytes(problem) / sizeof(float));
  const auto run = [&](float* result) {
    make_product(compute, problem)
        ->run({.a = a->get(),
               .b = b->get(),
               .c = result,
               .workspace = reinterpret_cast<std::byte*>(workspace->get())});
  };
  run(c->get());
  EXPECT_EQ(c->read(), std::vector<float>(6, 4));
  EXPECT_THROW(run(little->get()), std::logic_error);
}

// So a plan that gives too few bytes shows in the tensors beside them.
TEST(EmulatedLibraries, OverwriteTheirWholeWorkspace) {
  Emulated emulated({});
  CudaCompute compute({});
  const Conv2dProblem problem{.x = {2, 4, 8, 8}, .weight = {8, 4, 3, 3}, .y = {2, 8, 6, 6}};
  const auto floats = [&compute](std::int64_t count) {
    return std::make_unique<DeviceArray<float>>(
        compute, std::vector<float>(static_cast<std::size_t>(count), 1));
  };
  const auto x = floats(problem.x.elements()), weight = floats(problem.weight.elements());
  const auto y = floats(problem.y.elements());
  const auto convolution = make_convolution(compute, ConvolutionKind::kGradInput, problem);
  const auto run = [&](DeviceArray<std::uint8_t>& workspace) {
    convolution->run({.first = weight->get(),
                      .second = y->get(),
                      .result = x->get(),
                      .workspace = reinterpret_cast<std::byte*>(workspace.get())});
    return workspace.read();
  };
  const std::size_t bytes = convolution->workspace_bytes();
  EXPECT_GE(bytes, sizeof(float) * (512 + 288 + 576));
  DeviceArray<std::uint8_t> enough(compute, std::vector<std::uint8_t>(bytes + 1, 7));
  std::vector<std::uint8_t> expected(bytes + 1, 0xEE);
  expected.back() = 7;
  EXPECT_EQ(run(enough), expected);
  DeviceArray<std::uint8_t> little(compute, std::vector<std::uint8_t>(bytes - 1));
  EXPECT_THROW(run(little), std::logic_error);
}

std::string error_of_compute() {
  try {
    CudaCompute compute({});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(EmulatedDevice, IsAskedFirst) {
  Emulated none({.devices = 0});
  EXPECT_EQ(error_of_compute(),
            "[--device cuda] no CUDA device can be used: no CUDA-capable device is detected");
}

TEST(EmulatedDevice, OfAnotherArchitectureIsRefused) {
  Emulated ampere({.compute_capability = 86});
  EXPECT_EQ(error_of_compute(),
            "[--device cuda] this build has no kernels for compute capability 8.6: configure it "
            "with CMAKE_CUDA_ARCHITECTURES=86 or the preset all-cards");
}

}  // namespace
}  // namespace skyline
