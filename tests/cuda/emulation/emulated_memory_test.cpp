#include <cuda.h>
#include <gtest/gtest.h>

#include "framework/cuda/cuda_error.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

using cuda_emulation::Emulated;

TEST(EmulatedMemory, CountsAndFails) {
  Emulated emulated({.capacity_bytes = 1000, .held_by_others_bytes = 300, .failing_call = 1});
  void* address = nullptr;
  std::size_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(cudaMalloc(&address, 600), cudaSuccess);
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  EXPECT_EQ(free_bytes, 100u);
  EXPECT_EQ(total_bytes, 1000u);
  void* other = nullptr;
  EXPECT_EQ(cudaMalloc(&other, 1), cudaErrorMemoryAllocation) << "asked for";
  EXPECT_EQ(cudaMalloc(&other, 101), cudaErrorMemoryAllocation) << "too much";
  EXPECT_EQ(cudaFree(address), cudaSuccess);
  EXPECT_EQ(cuda_emulation::counts().mallocs, 3u);
  EXPECT_EQ(cuda_emulation::counts().frees, 1u);
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u);
}

// A pool of one chunk on a card without more memory, full of four blocks.
class EmulatedPool : public testing::Test {
 protected:
  static constexpr std::size_t kQuarter = std::size_t{8} << 20;

  void SetUp() override {
    ASSERT_EQ(cudaMemPoolCreate(&pool_, nullptr), cudaSuccess);
    for (void*& block : blocks_) ASSERT_EQ(request(&block, kQuarter), cudaSuccess);
  }
  void TearDown() override {
    cudaDeviceSynchronize();
    EXPECT_EQ(cudaMemPoolDestroy(pool_), cudaSuccess);
  }
  cudaError_t request(void** block, std::size_t bytes) {
    return cudaMallocFromPoolAsync(block, bytes, pool_, nullptr);
  }
  void free(int block) { EXPECT_EQ(cudaFreeAsync(blocks_[block], nullptr), cudaSuccess); }

  Emulated emulated_{{.capacity_bytes = 4 * kQuarter}};
  cudaMemPool_t pool_ = nullptr;
  void* blocks_[4] = {};
};

TEST_F(EmulatedPool, IsFragmentedByBlocksThatStay) {
  void* block = nullptr;
  free(0);
  free(2);
  EXPECT_EQ(request(&block, 2 * kQuarter), cudaErrorMemoryAllocation) << "two pieces of one";
  EXPECT_EQ(request(&blocks_[0], kQuarter), cudaSuccess);
  free(3);
  EXPECT_EQ(request(&block, 2 * kQuarter), cudaSuccess) << "neighbours";
  blocks_[2] = block;
  for (const int each : {0, 1, 2}) free(each);
}

TEST_F(EmulatedPool, GivesBackChunksWithoutBlocksOnly) {
  for (const int each : {0, 1, 2}) free(each);
  EXPECT_EQ(cudaMemPoolTrimTo(pool_, 0), cudaSuccess);
  EXPECT_EQ(cuda_emulation::held_bytes(), 4 * kQuarter);
  free(3);
  EXPECT_EQ(cudaMemPoolTrimTo(pool_, 1), cudaSuccess);
  EXPECT_EQ(cuda_emulation::held_bytes(), 4 * kQuarter) << "as many shall stay";
  EXPECT_EQ(cudaMemPoolTrimTo(pool_, 0), cudaSuccess);
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u);
}

// A range of two pieces of memory, and what maps it.
class EmulatedVirtualMemory : public testing::Test {
 protected:
  static constexpr std::size_t kPiece = std::size_t{2} << 20;

  void SetUp() override {
    ASSERT_EQ(cuMemAddressReserve(&range_, 2 * kPiece, kPiece, 0, 0), kDone);
  }
  void TearDown() override { EXPECT_EQ(cuMemAddressFree(range_, 2 * kPiece), kDone); }

  static constexpr CUresult kDone = CUDA_SUCCESS, kInvalid = CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation here_{CU_MEM_LOCATION_TYPE_DEVICE, 0}, elsewhere_{here_.type, 1};
  const CUmemAllocationProp pinned_{CU_MEM_ALLOCATION_TYPE_PINNED, here_};
  const CUmemAccessDesc read_write_{here_, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr range_ = 0;
  CUmemGenericAllocationHandle memory_ = 0;
};

TEST_F(EmulatedVirtualMemory, ChecksPropertiesAndDescriptors) {
  const CUmemAllocationProp untyped{{}, here_}, remote{pinned_.type, elsewhere_};
  EXPECT_EQ(cuMemCreate(&memory_, kPiece, nullptr, 0), kInvalid);
  EXPECT_EQ(cuMemCreate(&memory_, kPiece, &untyped, 0), kInvalid);
  EXPECT_EQ(cuMemCreate(&memory_, kPiece, &remote, 0), kInvalid);
  std::size_t bytes = 0;
  EXPECT_EQ(cuMemGetAllocationGranularity(&bytes, &remote, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            kInvalid);
  ASSERT_EQ(cuMemCreate(&memory_, kPiece, &pinned_, 0), kDone);
  ASSERT_EQ(cuMemMap(range_, kPiece, 0, memory_, 0), kDone);
  const CUmemAccessDesc unreadable{here_, {}}, others{elsewhere_, read_write_.flags};
  EXPECT_EQ(cuMemSetAccess(range_, kPiece, &read_write_, 0), kInvalid);
  EXPECT_EQ(cuMemSetAccess(range_, kPiece, nullptr, 1), kInvalid);
  EXPECT_EQ(cuMemSetAccess(range_, kPiece, &unreadable, 1), kInvalid);
  EXPECT_EQ(cuMemSetAccess(range_, kPiece, &others, 1), kInvalid);
  EXPECT_EQ(cuMemSetAccess(range_, 2 * kPiece, &read_write_, 1), kInvalid) << "half is unmapped";
  EXPECT_EQ(cuMemSetAccess(range_, kPiece, &read_write_, 1), kDone);
  EXPECT_EQ(cuMemUnmap(range_, kPiece), kDone);
  EXPECT_EQ(cuMemRelease(memory_), kDone);
}

TEST_F(EmulatedVirtualMemory, RefusesMapsThatOverlap) {
  CUmemGenericAllocationHandle large = 0;
  ASSERT_EQ(cuMemCreate(&memory_, kPiece, &pinned_, 0), kDone);
  ASSERT_EQ(cuMemCreate(&large, 2 * kPiece, &pinned_, 0), kDone);
  ASSERT_EQ(cuMemMap(range_ + kPiece, kPiece, 0, memory_, 0), kDone);
  EXPECT_EQ(cuMemMap(range_, 2 * kPiece, 0, large, 0), kInvalid);
  EXPECT_EQ(cuMemUnmap(range_ + kPiece, kPiece), kDone);
  EXPECT_EQ(cuMemMap(range_, 2 * kPiece, 0, large, 0), kDone);
  EXPECT_EQ(cuMemUnmap(range_, 2 * kPiece), kDone);
  EXPECT_EQ(cuMemRelease(memory_), kDone);
  EXPECT_EQ(cuMemRelease(large), kDone);
}

TEST_F(EmulatedVirtualMemory, CountsFromCreationToTheLastUse) {
  const std::size_t before = cuda_emulation::held_bytes();
  ASSERT_EQ(cuMemCreate(&memory_, kPiece, &pinned_, 0), kDone);
  EXPECT_EQ(cuda_emulation::held_bytes(), before + kPiece);
  ASSERT_EQ(cuMemMap(range_, kPiece, 0, memory_, 0), kDone);
  EXPECT_EQ(cuMemRelease(memory_), kDone);
  EXPECT_EQ(cuMemRelease(memory_), kInvalid) << "twice";
  EXPECT_EQ(cuda_emulation::held_bytes(), before + kPiece) << "still mapped";
  EXPECT_EQ(cuMemUnmap(range_, kPiece), kDone);
  EXPECT_EQ(cuda_emulation::held_bytes(), before);
  EXPECT_EQ(cuMemMap(range_, kPiece, 0, memory_, 0), kInvalid) << "gone";
}

TEST_F(EmulatedVirtualMemory, IsNotUnmappedUnderPendingWork) {
  ASSERT_EQ(cuMemCreate(&memory_, kPiece, &pinned_, 0), kDone);
  ASSERT_EQ(cuMemMap(range_, kPiece, 0, memory_, 0), kDone);
  ASSERT_EQ(cuMemSetAccess(range_, kPiece, &read_write_, 1), kDone);
  check_cuda(cudaMemsetAsync(reinterpret_cast<void*>(range_), 0, kPiece, nullptr), "fill");
  EXPECT_EQ(cuMemUnmap(range_, kPiece), CUDA_ERROR_ILLEGAL_ADDRESS);
  check_cuda(cudaDeviceSynchronize(), "wait");
  EXPECT_EQ(cuMemUnmap(range_, kPiece), kDone);
  EXPECT_EQ(cuMemRelease(memory_), kDone);
}

}  // namespace
}  // namespace skyline
