#include "memory/device/cuda_device.h"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/allocators/allocators.h"
#include "memory/device/cuda_memory.h"
#include "memory/device/devices.h"
#include "memory/device/out_of_memory.h"
#include "memory/session/session.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using cuda_emulation::Emulated;
using testing::HasSubstr;

constexpr std::size_t kGiB = std::size_t{1} << 30;
using Make = std::unique_ptr<Device> (*)(std::optional<std::size_t>);

std::string error_of(Make make) {
  try {
    make({});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

std::vector<std::byte> bytes_at(const Device& device, const std::byte* address, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  device.read(host.data(), address, bytes);
  return host;
}

std::vector<std::byte> filled(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

TEST(CudaDeviceErrors, AreOneLineThatNamesTheFlag) {
  {
    Emulated none({.devices = 0});
    EXPECT_EQ(error_of(make_cuda_device),
              "[--device cuda] no CUDA device can be used: no CUDA-capable device is detected");
  }
  {
    Emulated old({.driver_version = 11040});
    EXPECT_EQ(error_of(make_cuda_device),
              "[--device cuda] no CUDA device can be used: the driver is too old, got CUDA 11.4, "
              "expected 13.0 or newer");
  }
  {
    Emulated no_driver({.driver_version = 0});
    EXPECT_EQ(error_of(make_cuda_device),
              "[--device cuda] no CUDA device can be used: no driver is installed");
  }
  Emulated lacking({.missing_function = "cuMemMap"});
  EXPECT_EQ(error_of(make_cuda_device),
            "[--device cuda] the driver has no cuMemMap: it is too old");
}

class CudaDeviceTest : public testing::Test {
 protected:
  Emulated emulated_{{.held_by_others_bytes = 100 * kMiB}};
  std::unique_ptr<Device> device_ = make_cuda_device();
};

constexpr std::size_t kUsable = kGiB - 100 * kMiB - kCudaReservedBytes;

TEST_F(CudaDeviceTest, HandsOutWhatIsFree) {
  EXPECT_EQ(device_->name(), "cuda");
  EXPECT_TRUE(device_->has_memory());
  EXPECT_EQ(device_->capacity_bytes(), kUsable);
  std::byte* address = device_->allocate(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 512, 0u);
  device_->fill(address, 1000, 0x05050505);
  EXPECT_EQ(bytes_at(*device_, address, 1000), filled(1000, 5));
  EXPECT_EQ(device_->statistics().reserved_bytes, 1000u);
  device_->deallocate(address, 1000);
  EXPECT_EQ(device_->statistics().reserved_bytes, 0u);
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u);
}

TEST_F(CudaDeviceTest, TellsWhoHoldsTheMemoryThatItLacks) {
  std::byte* address = device_->allocate(200 * kMiB);
  try {
    device_->allocate(600 * kMiB);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().where, "cuda");
    EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
    EXPECT_EQ(refusal.facts().reserved_bytes, 200 * kMiB);
    EXPECT_EQ(refusal.facts().capacity_bytes, kUsable);
    EXPECT_EQ(refusal.facts().card_free_bytes, kGiB - 300 * kMiB);
    EXPECT_EQ(refusal.facts().held_by_others_bytes, 100 * kMiB);
    EXPECT_THAT(refusal.what(), HasSubstr("held there by other programs and the driver 104857600"));
  }
  device_->deallocate(address, 200 * kMiB);
}

TEST(CudaDeviceErrors, ACardThatOthersFillIsRefused) {
  Emulated full({.held_by_others_bytes = kGiB - 200 * kMiB});
  EXPECT_EQ(
      error_of(make_cuda_device),
      "[--device cuda] 209715200 bytes of the card are free, expected more than the 268435456 "
      "that the libraries' kernels may take");
  EXPECT_EQ(make_cuda_device(kMiB)->capacity_bytes(), kMiB) << "a capacity is taken as given";
}

// A range holds all its memory from the start if the card has no virtual memory.
TEST(CudaDeviceWithoutVirtualMemory, HasPlainRanges) {
  Emulated emulated({.virtual_memory = false});
  const auto device = make_cuda_device(100 * kMiB);
  EXPECT_EQ(device->address_bytes(), 50 * kMiB);
  auto range = device->reserve(39 * kMiB);
  EXPECT_EQ(range->reserved_bytes(), 40 * kMiB);
  EXPECT_EQ(device->statistics().reserved_bytes, 40 * kMiB);
  EXPECT_EQ(device->address_bytes(), 30 * kMiB);
  range->commit(5 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 6 * kMiB);
  device->fill(range->base(), 6 * kMiB, 0x01010101);
  range->commit(40 * kMiB);
  EXPECT_EQ(bytes_at(*device, range->base(), 6 * kMiB), filled(6 * kMiB, 1));
  EXPECT_THROW(range->commit(40 * kMiB + 1), OutOfMemory);
  EXPECT_THROW(device->reserve(61 * kMiB), OutOfMemory);
  range.reset();
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u);
  EXPECT_EQ(device->statistics().reserved_bytes, 0u);
}

// Planned steps run there, and a larger step is planned within the same range.
TEST(CudaDeviceWithoutVirtualMemory, ServesPlannedSteps) {
  Emulated emulated({.virtual_memory = false});
  const auto device = make_cuda_device(200 * kMiB);
  Session session(*device, {.policy = ShapePolicy::kGrow, .background = false});
  const auto step = [&session](std::size_t bytes) {
    session.begin_step(0);
    const Block first = session.allocate(bytes), second = session.allocate(bytes);
    session.end_step();
  };
  for (const std::size_t bytes : {10 * kMiB, 10 * kMiB, 10 * kMiB, 40 * kMiB, 40 * kMiB})
    step(bytes);
  const std::uint64_t mallocs = cuda_emulation::counts().mallocs;
  step(40 * kMiB);
  EXPECT_EQ(cuda_emulation::counts().mallocs, mallocs);
  EXPECT_GE(session.arena_bytes(), 80 * kMiB);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
}

TEST_F(CudaDeviceTest, KeepsToACapacity) {
  const auto small = make_cuda_device(kMiB);
  EXPECT_THROW(small->allocate(kMiB + 1), OutOfMemory);
  EXPECT_EQ(cuda_emulation::counts().mallocs, 0u);
}

TEST_F(CudaDeviceTest, RangeGrowsAndShrinksInPlace) {
  const auto range = device_->reserve(9 * kMiB);
  EXPECT_EQ(range->reserved_bytes(), 10 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range->base()) % kHugePageBytes, 0u);
  range->commit(1);
  EXPECT_EQ(range->committed_bytes(), 2 * kMiB);
  device_->fill(range->base(), 2 * kMiB, 0x01010101);
  range->commit(5 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 6 * kMiB);
  EXPECT_EQ(bytes_at(*device_, range->base(), 2 * kMiB), filled(2 * kMiB, 1));
  device_->fill(range->base() + 2 * kMiB, 4 * kMiB, 0x02020202);
  range->commit(4 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 4 * kMiB);
  EXPECT_EQ(bytes_at(*device_, range->base() + 2 * kMiB, 2 * kMiB), filled(2 * kMiB, 2));
  EXPECT_EQ(cuda_emulation::held_bytes(), 4 * kMiB);
  EXPECT_EQ(device_->statistics().peak_reserved_bytes, 6 * kMiB);
  EXPECT_EQ(cuda_emulation::counts().mallocs, 0u);
}

TEST_F(CudaDeviceTest, RangeGivesEverythingBack) {
  auto range = device_->reserve(64 * kMiB);
  range->commit(64 * kMiB);
  range.reset();
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u);
  EXPECT_EQ(device_->statistics().reserved_bytes, 0u);
  EXPECT_EQ(device_->statistics().frees, 1u);
}

TEST_F(CudaDeviceTest, RangeRefusesPastItsReservationAndPastTheCard) {
  const auto range = device_->reserve(4 * kMiB);
  EXPECT_THROW(range->commit(4 * kMiB + 1), OutOfMemory);
  const auto large = device_->reserve(2 * kGiB);
  try {
    large->commit(kGiB);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().held_by_others_bytes, 100 * kMiB);
  }
  EXPECT_EQ(large->committed_bytes(), 0u);
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u) << "what was mapped before the refusal went back";
}

TEST_F(CudaDeviceTest, ACommitThatFailsHalfWayChangesNothing) {
  const auto range = device_->reserve(16 * kMiB);
  range->commit(4 * kMiB);
  for (std::uint64_t piece = 0; piece < 4; ++piece) {
    cuda_emulation::options().failing_call = piece;
    EXPECT_THROW(range->commit(12 * kMiB), OutOfMemory);
    EXPECT_EQ(range->committed_bytes(), 4 * kMiB);
    EXPECT_EQ(cuda_emulation::held_bytes(), 4 * kMiB);
    EXPECT_EQ(device_->statistics().reserved_bytes, 4 * kMiB);
  }
  range->commit(12 * kMiB);
  EXPECT_EQ(cuda_emulation::held_bytes(), 12 * kMiB);
}

TEST_F(CudaDeviceTest, PiecesOfACommitThatFailedAreForgotten) {
  const auto device = make_cuda_device(kGiB);
  const auto range = device->reserve(900 * kMiB);
  range->commit(8 * kMiB);
  cuda_emulation::options().failing_call = 5;
  EXPECT_THROW(range->commit(899 * kMiB), OutOfMemory);
  range->commit(10 * kMiB);
  range->commit(2 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 2 * kMiB);
  EXPECT_EQ(cuda_emulation::held_bytes(), 2 * kMiB);
}

TEST_F(CudaDeviceTest, ARangeIsOfFewPieces) {
  const auto device = make_cuda_device(kGiB);
  const auto range = device->reserve(900 * kMiB);
  range->commit(899 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 900 * kMiB);
  EXPECT_LE(cuda_emulation::counts().maps, 226u) << "of 4 MiB each, and one";
  range->commit(500 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 500 * kMiB);
  range->commit(498 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 500 * kMiB) << "a piece goes back whole";
}

TEST_F(CudaDeviceTest, AnErrorThatIsNoShortageIsNamed) {
  try {
    device_->reserve(0);
    FAIL() << "expected an error";
  } catch (const OutOfMemory&) {
    FAIL() << "expected another error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "[cuMemAddressReserve] invalid argument");
  }
}

TEST_F(CudaDeviceTest, GuardsAreWrittenAndReadThroughTheDevice) {
  const auto pool = make_allocator("pool", *device_);
  GuardAdaptor guard(*pool, *device_);
  Block block = guard.allocate(1000);
  EXPECT_EQ(bytes_at(*device_, block.address() - 512, 512), filled(512, 0xA5));
  guard.check();
  const std::byte* address = block.address();
  device_->fill(block.address() + 1000, 4, 0);
  block.reset();
  EXPECT_THROW(guard.check(), MemoryCorruption);
  std::uint32_t word = 0;
  device_->read(&word, address, sizeof(word));
  EXPECT_EQ(word, GuardAdaptor::kFreedPoison);
}

// The driver's failures reach the caller, and every allocator works on after them.
TEST_F(CudaDeviceTest, AllocatorsSurviveEveryFailingCall) {
  for (const AllocatorEntry& entry : allocator_table()) {
    for (std::uint64_t call = 0; call < 3; ++call) {
      const auto allocator = entry.make(*device_, {});
      cuda_emulation::options().failing_call = call;
      std::vector<Block> blocks;
      int refused = 0;
      for (const std::size_t bytes : {3 * kMiB, 12 * kMiB, 21 * kMiB, 11 * kMiB}) {
        try {
          blocks.push_back(allocator->allocate(bytes));
        } catch (const OutOfMemory&) {
          ++refused;
        }
      }
      EXPECT_LE(refused, 1) << entry.name;
      EXPECT_GE(blocks.size(), 3u) << entry.name;
      cuda_emulation::options().failing_call.reset();
      EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "libraries would take it for theirs";
    }
    EXPECT_EQ(cuda_emulation::held_bytes(), 0u) << entry.name;
  }
}

TEST_F(CudaDeviceTest, HasTheDriversPoolAsAnAllocator) {
  {
    const auto allocator = make_allocator("cuda-async", *device_);
    Block first = allocator->allocate(1000);
    Block second = allocator->allocate(3 * kMiB);
    EXPECT_EQ(allocator->statistics().allocated_bytes, 1024 + 3 * kMiB);
    EXPECT_GE(allocator->statistics().reserved_bytes, 1024 + 3 * kMiB);
    EXPECT_EQ(device_->statistics().reserved_bytes, allocator->statistics().reserved_bytes);
    EXPECT_THROW(allocator->allocate(kGiB), OutOfMemory);
    EXPECT_EQ(allocator->statistics().out_of_memory, 1u);
    first.reset();
    second.reset();
    allocator->release_cached();
    EXPECT_EQ(allocator->statistics().reserved_bytes, 0u);
  }
  EXPECT_EQ(cuda_emulation::held_bytes(), 0u);
  EXPECT_EQ(cuda_emulation::counts().async_mallocs, 3u);
  EXPECT_EQ(cuda_emulation::counts().async_frees, 2u);
}

TEST(CudaAsync, SaysThatThePoolIsFragmented) {
  const Emulated emulated({.capacity_bytes = kCudaReservedBytes + 32 * kMiB});
  const auto device = make_cuda_device();
  const auto allocator = make_allocator("cuda-async", *device);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocator->allocate(8 * kMiB));
  cuda_emulation::options().held_by_others_bytes = kCudaReservedBytes;
  blocks[0].reset();
  blocks[2].reset();
  try {
    allocator->allocate(16 * kMiB);
    FAIL() << "expected a refusal";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kFragmentation);
  }
  EXPECT_TRUE(allocator->allocate(8 * kMiB));
}

TEST(CudaAsync, IsOfCudaDevicesOnly) {
  const auto host = make_device("cpu");
  try {
    make_allocator("cuda-async", *host);
    FAIL() << "expected an error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "[allocator cuda-async] is a pool of the CUDA driver, got device cpu, expected "
                 "cuda");
  }
}

}  // namespace
}  // namespace skyline
