#include "memory/session/arena_fallback.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/errors.h"
#include "memory/session/arena.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

StepSlot slot_of(std::uint64_t offset, std::uint64_t bytes) {
  return {.offset = offset, .bytes_limit = bytes + 1};
}

TEST(StretchedPlan, SlotsThatShareNoByteStillShareNone) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t alignment = random() % 2 == 0 ? 512 : 4096;
    const auto units = [&] { return alignment * (1 + random() % 1000); };
    const StepSlot below = slot_of(alignment * (random() % 1000), units());
    const StepSlot above = slot_of(below.offset + below.bytes(), units());
    const std::uint64_t bytes = below.bytes() + alignment * (random() % 500);
    const std::uint64_t factor = StretchedPlan::factor_for(bytes, below.bytes());
    StretchedPlan plan;
    plan.begin(
        factor, 0, 0, [](RequestIndex) { return false; }, [](RequestIndex) { return ByteRange{}; });
    const ByteRange first = plan.place_of(below, alignment),
                    second = plan.place_of(above, alignment);
    ASSERT_GE(first.bytes, bytes) << "what the factor is for";
    ASSERT_LE(first.offset + first.bytes, second.offset);
    ASSERT_LE(second.offset + second.bytes,
              StretchedPlan::ceil_of(above.offset + above.bytes(), factor, alignment));
    ASSERT_EQ(first.offset % alignment + first.bytes % alignment, 0u);
  }
}

TEST(StretchedPlan, BlocksFromBeforeThatTouchAPlaceAreNotInItsWay) {
  const std::vector<ByteRange> before = {{512, 1024}, {4096, 512}};
  StretchedPlan plan;
  std::vector<bool> alive = {true, true};
  const auto is_alive = [&](RequestIndex request) { return alive[request]; };
  plan.begin(2 * StretchedPlan::kWhole, 2, 2, is_alive,
             [&](RequestIndex request) { return before[request]; });
  EXPECT_FALSE(plan.overlaps({0, 512}, is_alive));
  EXPECT_FALSE(plan.overlaps({1536, 2560}, is_alive));
  EXPECT_TRUE(plan.overlaps({0, 513}, is_alive));
  EXPECT_TRUE(plan.overlaps({1535, 1}, is_alive));
  EXPECT_TRUE(plan.overlaps({1536, 2561}, is_alive));
  alive[0] = false;
  EXPECT_FALSE(plan.overlaps({0, 4096}, is_alive));
}

// Four blocks of 1 MiB alive together.
const std::vector<StepRequest> kRequests(4, {.bytes = kMiB, .needed_until = 4});

class ArenaStretch : public testing::Test {
 protected:
  explicit ArenaStretch(std::size_t capacity = 64 * kMiB) : device_(capacity) {
    const CanonicalStep step = canonical_step(kRequests);
    const Plan plan{.offsets = {0, kMiB, 2 * kMiB, 3 * kMiB}, .peak = 4 * kMiB};
    arena_.commit(plan.peak);
    arena_.install(std::make_shared<const StepLayout>(make_layout(step, plan)));
    arena_.begin_step(0);
  }
  SimulatedDevice device_;
  BestFitPool pool_{device_}, fallback_{device_};
  Arena arena_{device_, pool_, fallback_, std::size_t{1} << 30};

  std::size_t offset_of(const Block& block, const Block& first) {
    return static_cast<std::size_t>(block.address() - first.address());
  }
};

TEST_F(ArenaStretch, ServesRequestsThatAreAllLargerFromTheArena) {
  const std::size_t larger = kMiB + kMiB / 16;
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(arena_.allocate(larger));
  EXPECT_EQ(arena_.fallback_requests(), 0u);
  EXPECT_EQ(arena_.arena_bytes(), 4 * larger);
  EXPECT_EQ(offset_of(blocks[3], blocks[0]), 3 * larger);
  blocks.clear();
  arena_.end_step();
  arena_.settle();
  const std::vector<Observation>& seen = arena_.log().observations();
  ASSERT_EQ(seen.size(), 4u) << "and is planned for";
  for (const Observation& each : seen) EXPECT_EQ(each.kind, Deviation::kLarger);
  const std::vector<StepRequest> learned = merged(kRequests, arena_.log());
  for (const StepRequest& each : learned) {
    EXPECT_EQ(each.bytes, larger);
    EXPECT_EQ(each.needed_until, 4u) << "of their lifetimes nothing was seen";
  }
  EXPECT_EQ(arena_.planned_requests(), 4u);
  EXPECT_EQ(arena_.overdue_blocks(), 0u);
}

TEST_F(ArenaStretch, WhatLiesWhereItLayIsNotOverwritten) {
  Block first = arena_.allocate(kMiB);
  Block second = arena_.allocate(kMiB);
  Block larger = arena_.allocate(kMiB + kMiB / 16);
  Block last = arena_.allocate(kMiB + kMiB / 16);
  EXPECT_EQ(offset_of(second, first), kMiB);
  EXPECT_GE(offset_of(larger, first), 2 * kMiB + kMiB / 16) << "behind what is alive";
  EXPECT_GE(offset_of(last, larger), kMiB + kMiB / 16);
  EXPECT_EQ(arena_.fallback_requests(), 0u);
}

TEST_F(ArenaStretch, WaitsUntilItAddsLessThanHalfOfWhatItSaves) {
  const std::size_t larger = kMiB + 3 * kMiB / 16;
  Block first = arena_.allocate(larger);  // would add 3/4 MiB
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  EXPECT_EQ(arena_.arena_bytes(), 4 * kMiB);
  Block second = arena_.allocate(larger), third = arena_.allocate(larger);
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  EXPECT_EQ(arena_.arena_bytes(), 4 * larger);
  EXPECT_EQ(offset_of(third, second), larger);
}

TEST_F(ArenaStretch, CountsTheLargerRequestsOfOneStep) {
  for (std::uint64_t step = 1; step <= 3; ++step) {
    arena_.allocate(kMiB + 3 * kMiB / 16).reset();
    arena_.end_step();
    arena_.begin_step(0);
    EXPECT_EQ(arena_.fallback_requests(), step);
  }
  EXPECT_EQ(arena_.arena_bytes(), 4 * kMiB);
}

TEST_F(ArenaStretch, StretchesAPlanThatHasMoved) {
  Block stays = arena_.allocate(kMiB);
  arena_.end_step();
  arena_.commit_around_survivors(4 * kMiB);
  arena_.begin_step(0);
  const std::size_t larger = kMiB + kMiB / 16;
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(arena_.allocate(larger));
  EXPECT_EQ(arena_.fallback_requests(), 0u);
  EXPECT_EQ(offset_of(blocks[0], stays), kMiB);
  EXPECT_EQ(arena_.arena_bytes(), kMiB + 4 * larger) << "to the last block's end";
}

TEST_F(ArenaStretch, EndsWithItsStep) {
  Block block = arena_.allocate(kMiB + kMiB / 16);
  block.reset();
  arena_.end_step();
  arena_.begin_step(0);
  Block first = arena_.allocate(kMiB), second = arena_.allocate(kMiB);
  EXPECT_EQ(offset_of(second, first), kMiB);
}

TEST_F(ArenaStretch, IsNotForARequestOfAnotherKind) {
  Block large = arena_.allocate(2 * kMiB);
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  EXPECT_EQ(arena_.arena_bytes(), 4 * kMiB);
  EXPECT_THROW(arena_.allocate(~std::size_t{0}), OutOfMemory);
}

class ArenaStretchOnAFullDevice : public ArenaStretch {
 protected:
  ArenaStretchOnAFullDevice() : ArenaStretch(4 * kMiB + kMiB / 8) {}
};

TEST_F(ArenaStretchOnAFullDevice, LeavesAllAsItWas) {
  EXPECT_THROW(arena_.allocate(kMiB + kMiB / 16), OutOfMemory) << "neither arena nor fallback";
  EXPECT_EQ(arena_.arena_bytes(), 4 * kMiB);
  Block first = arena_.allocate(kMiB), second = arena_.allocate(kMiB);
  EXPECT_EQ(offset_of(second, first), kMiB);
}

}  // namespace
}  // namespace skyline
