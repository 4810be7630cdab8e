#include "memory/allocators/allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

TEST(AllocatorTable, MakesEveryRowByNameAndAlias) {
  for (const AllocatorEntry& entry : allocator_table()) {
    SimulatedDevice device;
    EXPECT_FALSE(entry.description.empty());
    for (const std::string_view name : {entry.name, entry.alias}) {
      if (name.empty()) continue;
      const auto allocator = make_allocator(name, device);
      EXPECT_EQ(allocator->allocate(100).bytes(), 100u) << name;
    }
  }
}

TEST(AllocatorTable, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  SimulatedDevice device;
  for (const char* name : {"bestfit", ""}) {
    try {
      make_allocator(name, device);
      FAIL() << "expected std::invalid_argument";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("exact-pool, best-fit-pool, caching, bfc"));
    }
  }
}

TEST(AllocatorTable, PoolIsTheBestFitPool) {
  SimulatedDevice device(8192);
  const auto pool = make_allocator("pool", device);
  pool->allocate(8192).reset();
  EXPECT_EQ(pool->allocate(512).bytes(), 512u);
  EXPECT_EQ(pool->statistics().device_allocations, 1u);
}

}  // namespace
}  // namespace skyline
