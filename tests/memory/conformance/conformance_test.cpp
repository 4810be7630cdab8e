// The promises of memory/allocator.h, for every row of conformance_allocators.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/memory/conformance/conformance_allocators.h"
#include "tests/memory/conformance/conformance_device.h"
#include "tests/memory/device/refusing_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

constexpr std::size_t kCapacityBytes = 256 * kMiB;
constexpr Tag kTag{.op = "op", .layer = "layer", .category = Category::kActivation};

class Conformance : public testing::TestWithParam<ConformanceRow> {
 protected:
  std::unique_ptr<Device> memory_ = make_conformance_device(kCapacityBytes);
  RefusingDevice device_{*memory_};
  std::optional<Chain> chain_{GetParam().make(device_)};
  Allocator& allocator_ = chain_->top();

  // Through the device, whose memory the host may not touch.
  void fill(const Block& block, std::uint8_t byte) {
    device_.fill(block.address(), block.bytes(), 0x01010101u * byte);
  }
  Block filled(std::size_t bytes, std::uint8_t byte) {
    Block block = allocator_.allocate(bytes, kTag);
    fill(block, byte);
    return block;
  }
  bool holds(const Block& block, std::uint8_t byte) const {
    std::vector<std::uint8_t> host(block.bytes());
    device_.read(host.data(), block.address(), host.size());
    return std::ranges::all_of(host, [byte](std::uint8_t b) { return b == byte; });
  }
  // The counters that a refusal must not change.
  static void expect_same_use(const Statistics& a, const Statistics& b) {
    EXPECT_EQ(a.requested_bytes, b.requested_bytes);
    EXPECT_EQ(a.peak_requested_bytes, b.peak_requested_bytes);
    EXPECT_EQ(a.allocated_bytes, b.allocated_bytes);
    EXPECT_EQ(a.peak_allocated_bytes, b.peak_allocated_bytes);
    EXPECT_EQ(a.requests, b.requests);
    EXPECT_EQ(a.releases, b.releases);
  }
  // Allocator and device agree on the bytes taken.
  void expect_books_balance() {
    const Statistics own = allocator_.statistics();
    const DeviceStatistics device = device_.statistics();
    EXPECT_EQ(own.reserved_bytes, device.reserved_bytes);
    EXPECT_EQ(own.peak_reserved_bytes, device.peak_reserved_bytes);
    EXPECT_EQ(own.device_allocations, device.allocations);
    EXPECT_EQ(own.device_frees, device.frees);
    EXPECT_GE(own.reserved_bytes, own.allocated_bytes);
    EXPECT_GE(own.allocated_bytes, own.requested_bytes);
    EXPECT_LE(own.largest_free_block_bytes, own.cached_bytes());
  }
  // Three layers forward and back, with a workspace each; some blocks live through the step.
  void run_step(ShapeKey key = 0) {
    allocator_.begin_step(key);
    std::vector<Block> activations;
    for (std::size_t layer = 1; layer <= 3; ++layer) {
      Block workspace = filled(layer * 3000, 1);
      activations.push_back(filled(layer * 10000, static_cast<std::uint8_t>(layer)));
      EXPECT_TRUE(holds(workspace, 1));
    }
    Block grad = filled(30000, 9);
    while (!activations.empty()) {
      EXPECT_TRUE(holds(activations.back(), static_cast<std::uint8_t>(activations.size())));
      Block next = filled(activations.back().bytes(), 9);
      EXPECT_TRUE(holds(grad, 9));
      grad = std::move(next);
      activations.pop_back();
    }
    grad.reset();
    allocator_.end_step();
  }
};

TEST_P(Conformance, AddressesAreAligned) {
  std::vector<Block> blocks;
  for (const std::size_t bytes : {1ul, 2ul, 511ul, 512ul, 513ul, 4095ul, 70000ul, 3 * kMiB + 1}) {
    blocks.push_back(allocator_.allocate(bytes, kTag));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().address()) % GetParam().unit_bytes,
              0u);
    EXPECT_EQ(blocks.back().bytes(), bytes);
    fill(blocks.back(), 1);
  }
}

TEST_P(Conformance, ZeroBytesAreServedLikeOneOrGetTheNullAddress) {
  Block one = allocator_.allocate(0, kTag), other = allocator_.allocate(0, kTag);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(allocator_.statistics().requests, 2u);
  if (GetParam().null_for_zero) {
    EXPECT_EQ(one.address(), nullptr);
    EXPECT_EQ(other.address(), nullptr);
    EXPECT_EQ(allocator_.statistics().reserved_bytes, 0u);
    EXPECT_EQ(allocator_.statistics().allocated_bytes, 0u);
    return;
  }
  EXPECT_NE(one.address(), nullptr);
  EXPECT_NE(one.address(), other.address());
  EXPECT_EQ(one.bytes(), 0u);
  EXPECT_EQ(allocator_.statistics().requested_bytes, 0u);
  EXPECT_GE(allocator_.statistics().allocated_bytes, 2 * GetParam().unit_bytes);
}

TEST_P(Conformance, ContentsSurviveTheirNeighbours) {
  std::vector<Block> blocks;
  for (std::uint8_t i = 0; i < 60; ++i) blocks.push_back(filled(i * 97u, i));
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  for (std::size_t i = 0; i < blocks.size(); i += 4) {
    blocks[i] = filled(i * 131, static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i]) {
      EXPECT_TRUE(holds(blocks[i], static_cast<std::uint8_t>(i))) << i;
    }
  }
}

TEST_P(Conformance, StatisticsAreExactAndReturnToZero) {
  {
    Block a = allocator_.allocate(1000, kTag), b = allocator_.allocate(2000, kTag);
    EXPECT_EQ(allocator_.statistics().requested_bytes, 3000u);
    a.reset();
    Block c = allocator_.allocate(10, kTag);
    EXPECT_EQ(allocator_.statistics().requested_bytes, 2010u);
    EXPECT_EQ(allocator_.statistics().requests, 3u);
    EXPECT_EQ(allocator_.statistics().releases, 1u);
    expect_books_balance();
  }
  const Statistics after = allocator_.statistics();
  EXPECT_EQ(after.requested_bytes, 0u);
  EXPECT_EQ(after.allocated_bytes, 0u);
  EXPECT_EQ(after.peak_requested_bytes, 3000u);
  EXPECT_EQ(after.peak_rounded_bytes, 1024u + 2048u);
  EXPECT_GE(after.peak_allocated_bytes, 1024u + 2048u);
  EXPECT_EQ(after.requests, 3u);
  EXPECT_EQ(after.releases, 3u);
  EXPECT_EQ(after.out_of_memory, 0u);
  expect_books_balance();
}

TEST_P(Conformance, BlocksMoveAndReleaseOnce) {
  Block a = filled(100, 1);
  std::byte* address = a.address();
  Block b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT: a moved-from block is empty by contract
  EXPECT_EQ(b.address(), address);
  Block c = filled(200, 2);
  c = std::move(b);  // returns its 200 bytes
  EXPECT_EQ(c.address(), address);
  EXPECT_EQ(allocator_.statistics().requested_bytes, 100u);
  Block& same = c;
  c = std::move(same);
  EXPECT_TRUE(c && holds(c, 1));
  allocator_.deallocate(std::move(c));
  c.reset();
  EXPECT_EQ(allocator_.statistics().releases, 2u);
  EXPECT_EQ(allocator_.statistics().requested_bytes, 0u);
}

TEST_P(Conformance, ARefusalChangesNothing) {
  Block live = filled(5000, 7);
  for (const std::size_t bytes : {kCapacityBytes, std::numeric_limits<std::size_t>::max()}) {
    const Statistics before = allocator_.statistics();
    EXPECT_THROW(allocator_.allocate(bytes, kTag), OutOfMemory);
    expect_same_use(before, allocator_.statistics());
    EXPECT_EQ(allocator_.statistics().out_of_memory, before.out_of_memory + 1);
    expect_books_balance();
  }
  Block next = filled(5000, 8);
  EXPECT_TRUE(holds(live, 7) && holds(next, 8));
}

TEST_P(Conformance, FullMemoryIsUsableAgainOnceFreed) {
  std::vector<Block> blocks;
  const auto fill = [&] {
    while (true) blocks.push_back(allocator_.allocate(16 * kMiB, kTag));
  };
  EXPECT_THROW(fill(), OutOfMemory);
  EXPECT_GE(blocks.size(), kCapacityBytes / (16 * kMiB) - 1);
  blocks.clear();
  allocator_.release_cached();
  EXPECT_NO_THROW(blocks.push_back(allocator_.allocate(kCapacityBytes / 2, kTag)));
  expect_books_balance();
}

TEST_P(Conformance, RepeatedStepsStopAskingTheDevice) {
  Block parameter = filled(4000, 5);
  for (int step = 0; step < 4; ++step) run_step();
  const std::uint64_t settled = device_.statistics().allocations;
  for (int step = 0; step < 5; ++step) run_step();
  EXPECT_EQ(device_.statistics().allocations, settled);
  EXPECT_TRUE(holds(parameter, 5));
  EXPECT_EQ(allocator_.statistics().requested_bytes, 4000u);
  expect_books_balance();
}

TEST_P(Conformance, BlocksMayOutliveTheirStep) {
  for (int step = 0; step < 3; ++step) run_step();
  allocator_.begin_step(0);
  Block first = filled(3000, 11), second = filled(10000, 12);
  allocator_.end_step();
  run_step();
  first.reset();
  run_step();
  EXPECT_TRUE(holds(second, 12));
  second.reset();
  run_step();
  EXPECT_EQ(allocator_.statistics().requested_bytes, 0u);
  expect_books_balance();
}

TEST_P(Conformance, InterruptionsNest) {
  for (int step = 0; step < 5; ++step) {
    allocator_.begin_step(0);
    Block hot = filled(1000, 1);
    std::vector<Block> cold;
    {
      Interruption outer(allocator_);
      for (int i = 0; i <= step; ++i) cold.push_back(filled(700, 2));
      {
        Interruption inner(allocator_);
        cold.push_back(filled(900, 2));
      }
      cold.push_back(filled(1100, 2));
    }
    Block hot_again = filled(2000, 3);
    EXPECT_TRUE(holds(hot, 1) && holds(hot_again, 3));
    for (const Block& block : cold) EXPECT_TRUE(holds(block, 2));
    allocator_.end_step();
  }
  EXPECT_EQ(allocator_.statistics().requested_bytes, 0u);
  expect_books_balance();
}

TEST_P(Conformance, ReleasingTheCacheKeepsWhatIsAlive) {
  run_step();
  allocator_.begin_step(0);
  Block block = filled(3000, 4);
  allocator_.release_cached();
  Block next = filled(10000, 5);
  EXPECT_TRUE(holds(block, 4) && holds(next, 5));
  allocator_.end_step();
  expect_books_balance();
}

TEST_P(Conformance, DestructionGivesEverythingBack) {
  for (int step = 0; step < 3; ++step) run_step();
  filled(1000, 1).reset();
  chain_.reset();
  EXPECT_EQ(device_.statistics().reserved_bytes, 0u);
  EXPECT_EQ(device_.statistics().frees, device_.statistics().allocations);
}

TEST_P(Conformance, SurvivesADeviceThatRefusesFromAnyCallOn) {
  bool served = false;
  for (std::uint64_t call = 0; !served; ++call) {
    SCOPED_TRACE(call);
    chain_.reset();
    chain_.emplace(GetParam().make(device_));
    Allocator& fresh = chain_->top();
    Block kept;
    device_.refuse_from(call);
    try {
      kept = fresh.allocate(600, kTag);
      fill(kept, 6);
      for (std::uint64_t step = 0; step < 4; ++step) {
        fresh.begin_step(0);
        std::vector<Block> blocks;
        for (std::size_t i = 1; i < 8; ++i) {
          blocks.push_back(fresh.allocate(i * i * 9000 * (step + 1)));
        }
        blocks.erase(blocks.begin(), blocks.begin() + 4);
        for (std::size_t i = 1; i < 4; ++i) blocks.push_back(fresh.allocate(i * 900000));
        blocks.clear();
        fresh.end_step();
      }
      served = true;
    } catch (const OutOfMemory& refusal) {
      EXPECT_EQ(refusal.facts().shortage, Shortage::kInjected) << refusal.what();
      EXPECT_EQ(fresh.statistics().out_of_memory, 1u);
      fresh.end_step();
    }
    device_.serve_all();
    EXPECT_EQ(fresh.statistics().requested_bytes, kept.bytes());
    EXPECT_TRUE(holds(kept, 6));
    Block after = fresh.allocate(50000, kTag);
    fill(after, 8);
    EXPECT_TRUE(holds(kept, 6));
  }
  EXPECT_GT(device_.refusals(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Allocators, Conformance, testing::ValuesIn(conformance_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace skyline
