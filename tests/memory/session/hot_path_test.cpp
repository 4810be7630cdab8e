// A hot step makes no heap allocation. A separate program, because it replaces operator new.
#include <gtest/gtest.h>

#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/allocators.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"
#include "tests/memory/heap_counter.h"

namespace skyline {
namespace {

constexpr std::size_t kBlocks = 200;

// Includes begin_step and end_step: they are part of a hot step.
void step(Allocator& allocator, std::vector<Block>& blocks, bool reversed) {
  allocator.begin_step(0);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks[i] = allocator.allocate(1000 + i, {.op = "a name too long for a small string buffer"});
    if (i % 3 == 2) blocks[i - 1].reset();
  }
  for (std::size_t i = 0; i < kBlocks; ++i) blocks[reversed ? kBlocks - 1 - i : i].reset();
  allocator.end_step();
}

std::size_t heap_allocations_of_a_step(Allocator& allocator, std::vector<Block>& blocks,
                                       bool reversed = false) {
  const std::size_t before = heap_allocations();
  step(allocator, blocks, reversed);
  return heap_allocations() - before;
}

TEST(HotPath, MakesNoHeapAllocation) {
  SimulatedDevice device;
  Session session(device);
  std::vector<Block> blocks(kBlocks);
  EXPECT_GT(heap_allocations_of_a_step(session, blocks), kBlocks) << "the recording keeps names";
  step(session, blocks, false);
  const DeviceStatistics before = device.statistics();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(heap_allocations_of_a_step(session, blocks), 0u);
  EXPECT_EQ(heap_allocations_of_a_step(session, blocks, true), 0u) << "freed out of order";
  const SessionStatistics figures = session.session_statistics();
  EXPECT_EQ(figures.planned_requests, 7 * kBlocks);
  EXPECT_EQ(figures.pool_calls, 2 * kBlocks) << "the warm-up's";
  EXPECT_EQ(figures.fallback_requests, 0u);
  EXPECT_EQ(device.statistics().allocations, before.allocations);
  EXPECT_EQ(device.statistics().frees, before.frees);
}

TEST(HotPath, AllocatorsMakeNoHeapAllocationOnceWarm) {
  const AllocatorOptions kOptions[] = {
      {},
      {.caching = {.max_split_bytes = 32u << 20}},
      {.caching = {.garbage_collection_threshold = 0.5}},
      {.caching = {.expandable_segments = true, .roundup_power2_divisions = 4}},
      {.bfc = {.growth = false, .limit_bytes = 1u << 30}},
  };
  for (const AllocatorEntry& entry : allocator_table()) {
    for (const AllocatorOptions& options : kOptions) {
      SCOPED_TRACE(entry.name);
      SimulatedDevice device;
      const auto allocator = make_allocator(entry.name, device, options);
      std::vector<Block> blocks(kBlocks);
      for (const bool reversed : {false, true}) step(*allocator, blocks, reversed);
      for (const bool reversed : {false, true, false}) {
        EXPECT_EQ(heap_allocations_of_a_step(*allocator, blocks, reversed), 0u);
      }
    }
  }
}

// Releases are noexcept, so requests make room for them. Tests growing numbers of blocks, requested
// before the step, within it, or half and half.
void expect_releases_without_heap(Allocator& allocator, std::size_t halves_before) {
  for (std::size_t blocks = 40; blocks < 100; ++blocks) {
    std::vector<Block> held(blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
      if (i == blocks * halves_before / 2) allocator.begin_step(0);
      held[i] = allocator.allocate(1000);
    }
    if (halves_before == 2) allocator.begin_step(0);
    const std::size_t before = heap_allocations();
    for (Block& block : held) block.reset();
    EXPECT_EQ(heap_allocations(), before) << blocks << " blocks";
    allocator.end_step();
  }
}

TEST(HotPath, ReleasesMakeNoHeapAllocation) {
  for (const std::size_t halves_before : {0u, 1u, 2u}) {
    SimulatedDevice device;
    for (const AllocatorEntry& entry : allocator_table()) {
      SCOPED_TRACE(entry.name);
      expect_releases_without_heap(*make_allocator(entry.name, device), halves_before);
    }
    BestFitPool pool(device);
    RecordingAdaptor recording(pool);
    expect_releases_without_heap(recording, halves_before);
    StatisticsAdaptor timed(pool, StatisticsAdaptor::Timing::kOn);
    expect_releases_without_heap(timed, halves_before);
    GuardAdaptor guard(pool, device);
    expect_releases_without_heap(guard, halves_before);
  }
}

}  // namespace
}  // namespace skyline
