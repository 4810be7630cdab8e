// The statistics of an arena and its pools.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "memory/errors.h"
#include "tests/memory/session/arena_fixture.h"

namespace skyline {
namespace {

using tests::kThree;
using ArenaStatistics = tests::ArenaFixture;

TEST_F(ArenaStatistics, CountsBytesWhereverTheyAreServed) {
  install(kThree);
  Block resident = arena_.allocate(700);
  arena_.begin_step(0);
  Block planned = arena_.allocate(10);
  Block larger = arena_.allocate(2000);
  const Statistics now = arena_.statistics();
  EXPECT_EQ(now.requested_bytes, 2710u);
  EXPECT_EQ(now.allocated_bytes, 1024u + 512u + 2048u);
  EXPECT_EQ(now.reserved_bytes, device_.statistics().reserved_bytes);
  EXPECT_EQ(now.requests, 3u);
  planned.reset();
  larger.reset();
  arena_.end_step();
  EXPECT_EQ(arena_.statistics().requested_bytes, 700u);
  EXPECT_EQ(arena_.statistics().peak_requested_bytes, 2710u);
  EXPECT_EQ(arena_.statistics().releases, 2u);
}

TEST_F(ArenaStatistics, KnowsTheLargestFreeBlockWhereverItIs) {
  const auto largest = [this] { return arena_.statistics().largest_free_block_bytes; };
  install(kThree);
  EXPECT_EQ(largest(), 4096u) << "a page";
  arena_.begin_step(0);
  Block first = arena_.allocate(1000), second = arena_.allocate(1000);
  if (first.address() > second.address()) std::swap(first, second);
  EXPECT_EQ(largest(), 2048u) << "behind both";
  arena_.end_step();
  arena_.settle();
  EXPECT_EQ(largest(), 2048u) << "of survivors";
  first.reset();
  EXPECT_EQ(largest(), 2048u);
  second.reset();
  pool_.allocate(8192).reset();
  EXPECT_EQ(largest(), 8192u);
  fallback_.allocate(4096).reset();
  EXPECT_EQ(largest(), 8192u);
  unbounded_.allocate(kMiB).reset();
  EXPECT_EQ(largest(), kMiB);
}

TEST_F(ArenaStatistics, ThePeakIsKeptUntilItIsRestarted) {
  Block resident = arena_.allocate(4 * kMiB);
  resident.reset();
  arena_.release_cached();
  arena_.allocate(512).reset();
  EXPECT_EQ(arena_.recent_peak_reserved_bytes(), 4 * kMiB);
  arena_.restart_peak();
  EXPECT_EQ(arena_.recent_peak_reserved_bytes(), 512u);
  EXPECT_EQ(arena_.statistics().peak_reserved_bytes, 4 * kMiB);
}

TEST_F(ArenaStatistics, WhatOnePoolCachesTheOtherMayNeed) {
  SimulatedDevice device(8 * kMiB);
  BestFitPool pool(device), fallback(device);
  Arena arena(device, pool, fallback, kMiB);
  pool.allocate(4 * kMiB).reset();
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(arena.allocate(kMiB));
  blocks[0].reset();
  blocks[2].reset();
  fallback.allocate(4 * kMiB).reset();
  EXPECT_TRUE(arena.allocate(2 * kMiB)) << "2 MiB of the pool are free, but not in one piece";
  EXPECT_EQ(arena.statistics().flushes, 1u);
  EXPECT_EQ(arena.statistics().out_of_memory, 0u);
  EXPECT_THROW(arena.allocate(7 * kMiB), OutOfMemory);
  fallback.allocate(2 * kMiB).reset();
  EXPECT_THROW(arena.allocate(7 * kMiB), OutOfMemory) << "not even with what the other gave back";
  EXPECT_EQ(fallback.statistics().reserved_bytes, 0u);
  EXPECT_EQ(arena.statistics().out_of_memory, 2u);
  const std::uint64_t flushes = arena.statistics().flushes;
  fallback.allocate(kMiB).reset();
  EXPECT_THROW(fallback.allocate(7 * kMiB), OutOfMemory);
  EXPECT_EQ(arena.statistics().flushes, flushes + 1) << "the fallback's own";
}

}  // namespace
}  // namespace skyline
