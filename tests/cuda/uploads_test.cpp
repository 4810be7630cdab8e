#include "framework/cuda/uploads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/cuda/launch.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

using cuda_emulation::Emulated;
using cuda_emulation::StreamOrder;

constexpr int kSteps = 4;
constexpr unsigned kCount = 8;
constexpr std::size_t kBytes = kCount * sizeof(int);
constexpr int kReused = -1;

// What a step does to bytes that it has uploaded: reads them, and has them written by another op.
__global__ void read_kernel(int* result, const int* block) {
  result[threadIdx.x] = block[threadIdx.x];
}
__global__ void reuse_kernel(int* block) { block[threadIdx.x] = kReused; }

// What the ops of some steps see of their inputs, which all go into the same block.
std::vector<int> seen_by_ops(cuda_emulation::Options options) {
  Emulated emulated(options);
  CudaCompute compute({});
  std::byte *block = nullptr, *results = nullptr;
  check_cuda(cudaMalloc(&block, kBytes), "cudaMalloc");
  check_cuda(cudaMalloc(&results, (kSteps + 1) * kBytes), "cudaMalloc");
  const auto read = [&](int row) {
    launch(compute, 1, kCount, read_kernel, reinterpret_cast<int*>(results) + row * kCount,
           reinterpret_cast<const int*>(block));
  };
  compute.zero(block, kBytes);
  read(kSteps);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<int> host(kCount, step + 1);
    compute.upload(block, host.data(), kBytes);
    std::fill(host.begin(), host.end(), 99);  // may be reused at once
    read(step);
    launch(compute, 1, kCount, reuse_kernel, reinterpret_cast<int*>(block));
  }
  std::vector<int> seen((kSteps + 1) * kCount);
  compute.read(seen.data(), results, (kSteps + 1) * kBytes);
  cudaFree(results);
  cudaFree(block);
  return seen;
}

std::vector<int> expected() {
  std::vector<int> values;
  for (const int value : {1, 2, 3, 4, 0}) values.insert(values.end(), kCount, value);
  return values;
}

// In whatever order streams run; `ignored_wait` plants a missing event.
bool is_right_in_all_orders(std::optional<std::uint64_t> ignored_wait) {
  for (const StreamOrder order : {StreamOrder::kOthersLast, StreamOrder::kOthersFirst}) {
    if (seen_by_ops({.streams = order, .ignored_wait = ignored_wait}) != expected()) return false;
  }
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    if (seen_by_ops(
            {.seed = seed, .streams = StreamOrder::kShuffled, .ignored_wait = ignored_wait}) !=
        expected()) {
      return false;
    }
  }
  return true;
}

TEST(Uploads, NeverRaceWithOtherUsesOfTheirBytes) { EXPECT_TRUE(is_right_in_all_orders({})); }

// Each upload waits for the ops before it and makes the ops after it wait; from the third on the
// host waits for the buffer's last copy as well.
TEST(Uploads, EveryEventIsNeeded) {
  constexpr std::uint64_t kWaits = 2 * kSteps + (kSteps - 2);
  for (std::uint64_t wait = 0; wait < kWaits; ++wait) {
    EXPECT_FALSE(is_right_in_all_orders(wait)) << "without wait " << wait;
  }
  EXPECT_TRUE(is_right_in_all_orders(kWaits)) << "there are no more";
}

TEST(Uploads, TakePinnedMemoryForTheLargestTwoOnly) {
  Emulated emulated({});
  CudaCompute compute({});
  std::byte* block = nullptr;
  check_cuda(cudaMalloc(&block, 100), "cudaMalloc");
  const std::vector<std::byte> host(100);
  for (int step = 0; step < 5; ++step) {
    compute.upload(block, host.data(), 100);
    compute.upload(block, host.data(), 4);
  }
  compute.wait();
  EXPECT_EQ(cuda_emulation::counts().host_mallocs, 2u);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaFree(block);
}

}  // namespace
}  // namespace skyline
