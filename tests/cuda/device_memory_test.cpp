// Memory of a CUDA device, emulated or real: refusals that only its driver can make, and bytes read
// through it.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/cuda/make_cuda_compute.h"
#include "memory/adaptors/checking_adaptors.h"
#include "memory/allocators/allocators.h"
#include "memory/device/cuda_device.h"
#include "memory/device/cuda_memory.h"
#include "memory/device/out_of_memory.h"
#include "tests/cuda/device_calls.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

std::size_t card_free_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  return free_bytes;
}

std::uint32_t word_at(const Device& device, const std::byte* address) {
  std::uint32_t word = 0;
  device.read(&word, address, sizeof(word));
  return word;
}

TEST(CudaDeviceMemory, AddressesAreAligned) {
  const auto device = make_cuda_device();
  const auto pool = make_allocator("cuda-async", *device);
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  std::vector<Block> blocks;
  for (const std::size_t bytes : {1, 513, 7, 100'000, 3'000'000, 1}) {
    taken.emplace_back(device->allocate(bytes), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.back().first) % kAlignmentBytes, 0u) << bytes;
    blocks.push_back(pool->allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().address()) % kAlignmentBytes, 0u);
  }
  for (const auto& [address, bytes] : taken) device->deallocate(address, bytes);
}

TEST(CudaDeviceMemory, FillsFromAnyAddressOn) {
  const auto device = make_cuda_device();
  std::byte* address = device->allocate(64);
  for (std::size_t first = 0; first < 8; ++first) {
    for (std::size_t bytes = 0; bytes < 12; ++bytes) {
      device->fill(address, 64, 0);
      device->fill(address + first, bytes, 0x04030201);
      std::vector<std::uint8_t> got(64), expected(64);
      for (std::size_t i = 0; i < bytes; ++i) {
        expected[first + i] = static_cast<std::uint8_t>(1 + i % 4);
      }
      device->read(got.data(), address, 64);
      EXPECT_EQ(got, expected) << bytes << " bytes from " << first;
    }
  }
  device->deallocate(address, 64);
}

TEST(CudaDeviceMemory, GuardsBlocksOfAnySize) {
  const auto device = make_cuda_device();
  const auto pool = make_allocator("pool", *device);
  GuardAdaptor guard(*pool, *device);
  for (const std::size_t bytes : {1, 1001, 1002, 1003, 4096}) {
    Block block = guard.allocate(bytes);
    EXPECT_NO_THROW(guard.check()) << bytes;
    device->fill(block.address() + bytes, 1, 0);
    EXPECT_THROW(guard.check(), MemoryCorruption) << bytes;
    device->fill(block.address() + bytes, 1, 0xA5A5A5A5);
  }
}

TEST(CudaDeviceMemory, ARangeKeepsItsContentsWhereItGrowsAndShrinks) {
  const auto device = make_cuda_device();
  const auto range = device->reserve(600 * kMiB);
  std::size_t written = 0;  // MiB, each marked with its number
  for (const std::size_t wanted : {1, 5, 300, 301, 40, 38, 513, 2, 0, 8}) {
    range->commit(wanted * kMiB);
    const std::size_t committed = range->committed_bytes() / kMiB;
    EXPECT_GE(committed, wanted);
    EXPECT_LE(committed, wanted + 513 / 128 + 1);
    EXPECT_EQ(device->statistics().reserved_bytes, committed * kMiB);
    for (std::size_t i = 0; i < std::min(written, committed); ++i) {
      EXPECT_EQ(word_at(*device, range->base() + i * kMiB), i) << wanted;
    }
    for (written = std::min(written, committed); written < committed; ++written) {
      device->fill(range->base() + written * kMiB, 4, static_cast<std::uint32_t>(written));
    }
  }
}

TEST(CudaDeviceMemory, ARefusalOfTheDriverChangesNothing) {
  const std::size_t all_bytes = card_free_bytes();
  const auto device = make_cuda_device(all_bytes), other = make_cuda_device();
  std::byte* held = other->allocate(64 * kMiB);
  const std::size_t free_bytes = card_free_bytes();
  try {
    device->allocate(all_bytes);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_LE(refusal.facts().card_free_bytes.value_or(all_bytes), free_bytes + 64 * kMiB);
    EXPECT_GE(refusal.facts().held_by_others_bytes.value_or(0), 64 * kMiB);
  }
  const auto range = device->reserve(all_bytes);
  range->commit(16 * kMiB);
  EXPECT_THROW(range->commit(all_bytes), OutOfMemory);
  EXPECT_EQ(range->committed_bytes(), 16 * kMiB);
  EXPECT_EQ(device->statistics().reserved_bytes, 16 * kMiB);
  EXPECT_GE(card_free_bytes() + 64 * kMiB, free_bytes) << "what was mapped went back";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "libraries would take it for theirs";
  device->fill(range->base(), 16 * kMiB, 7);
  EXPECT_EQ(word_at(*device, range->base() + 16 * kMiB - 4), 7u);
  other->deallocate(held, 64 * kMiB);
}

TEST(CudaDeviceMemory, TheDriversPoolKeepsWhatItHasUntilItIsReleased) {
  const auto device = make_cuda_device();
  const auto allocator = make_allocator("cuda-async", *device);
  Block block = allocator->allocate(100 * kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.address()) % 512, 0u);
  const std::size_t reserved_bytes = allocator->statistics().reserved_bytes;
  EXPECT_GE(reserved_bytes, 100 * kMiB);
  EXPECT_EQ(device->statistics().reserved_bytes, reserved_bytes);
  for (int i = 0; i < 100; ++i) {
    block.reset();
    block = allocator->allocate(100 * kMiB);
  }
  EXPECT_EQ(allocator->statistics().reserved_bytes, reserved_bytes) << "freed in stream order";
  block.reset();
  EXPECT_EQ(allocator->statistics().reserved_bytes, reserved_bytes);
  allocator->release_cached();
  EXPECT_EQ(allocator->statistics().reserved_bytes, 0u);
  EXPECT_EQ(device->statistics().reserved_bytes, 0u);
}

TEST(CudaDeviceMemory, TheDriversPoolKeepsToACapacity) {
  const auto device = make_cuda_device(256 * kMiB);
  const auto allocator = make_allocator("cuda-async", *device);
  const Block kept = allocator->allocate(50 * kMiB);
  EXPECT_THROW(allocator->allocate(250 * kMiB), OutOfMemory);
  EXPECT_LE(allocator->statistics().reserved_bytes, 256 * kMiB);
  EXPECT_THROW(device->allocate(250 * kMiB), OutOfMemory);
  EXPECT_TRUE(allocator->allocate(50 * kMiB));
}

// Each upload goes to the same bytes, which the device copies away and overwrites.
void expect_uploads_in_order(bool staged) {
  constexpr std::size_t kSteps = 24, kBytes = 4 * kMiB;
  const auto device = make_cuda_device();
  const auto compute = make_cuda_compute({});
  std::byte *block = device->allocate(kBytes), *results = device->allocate(kSteps * kBytes);
  std::byte* const on_the_way = device->allocate(kBytes);
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::vector<std::byte> host(kBytes, static_cast<std::byte>(step));
    const Staging staging{on_the_way, step > 0 ? Staging::Users::kUploads : Staging::Users::kOps};
    compute->upload(block, host.data(), kBytes, staged ? &staging : nullptr);
    std::ranges::fill(host, std::byte{99});  // may be reused at once
    ASSERT_EQ(cudaMemcpyAsync(results + step * kBytes, block, kBytes, cudaMemcpyDeviceToDevice,
                              cuda_stream()),
              cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(block, 0xEE, kBytes, cuda_stream()), cudaSuccess);
  }
  std::vector<std::byte> got(kSteps * kBytes);
  compute->read(got.data(), results, got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], static_cast<std::byte>(i / kBytes)) << "byte " << i;
  }
  device->deallocate(on_the_way, kBytes);
  device->deallocate(results, kSteps * kBytes);
  device->deallocate(block, kBytes);
}

TEST(CudaDeviceMemory, UploadsKeepToTheOrderOfTheirOps) { expect_uploads_in_order(false); }
TEST(CudaDeviceMemory, StagedUploadsKeepToTheOrderOfTheirOps) { expect_uploads_in_order(true); }

TEST(CudaDeviceMemory, UploadsTakePinnedMemoryForTheLargestTwoOnly) {
  const auto device = make_cuda_device();
  const auto compute = make_cuda_compute({});
  std::byte* const block = device->allocate(100);
  const std::vector<std::byte> host(100);
  const DeviceCalls before = device_calls();
  for (int step = 0; step < 5; ++step) {
    compute->upload(block, host.data(), 100, nullptr);
    compute->upload(block, host.data(), 4, nullptr);
  }
  compute->wait();
  EXPECT_EQ(device_calls().allocations - before.allocations, 2u);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  device->deallocate(block, 100);
}

}  // namespace
}  // namespace skyline
