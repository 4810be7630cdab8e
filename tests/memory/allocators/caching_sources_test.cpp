// CachingAllocator with streams and private pools.
#include <gtest/gtest.h>

#include "memory/adaptors/adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/allocators/caching_allocator.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

class CachingSources : public testing::Test {
 protected:
  std::size_t reserved() const { return caching_.statistics().reserved_bytes; }
  // Requests bytes from a source and frees them.
  void use(RequestSource source, std::size_t bytes = 20 * kMiB) {
    caching_.request_from(source);
    caching_.allocate(bytes);
  }

  SimulatedDevice device_{100 * kMiB};
  CachingAllocator caching_{device_};
};

TEST_F(CachingSources, AStreamReusesItsOwnBlocksOnly) {
  use({.stream = 0});
  use({.stream = 0});
  EXPECT_EQ(reserved(), 20 * kMiB);
  use({.stream = 1});
  EXPECT_EQ(reserved(), 40 * kMiB);
  use({.stream = 0});
  use({.stream = 1});
  EXPECT_EQ(reserved(), 40 * kMiB);
  use({.stream = 2}, 512);
  EXPECT_EQ(reserved(), 42 * kMiB) << "the small pools, too";
}

TEST_F(CachingSources, ABlockGoesBackToTheStreamThatRequestedIt) {
  caching_.request_from({.stream = 1});
  Block block = caching_.allocate(20 * kMiB);
  caching_.request_from({.stream = 2});
  block.reset();
  use({.stream = 1});
  EXPECT_EQ(reserved(), 20 * kMiB);
}

TEST_F(CachingSources, PrivatePoolsAreApart) {
  use({.pool = 1});
  use({});
  use({.pool = 2});
  EXPECT_EQ(reserved(), 60 * kMiB);
  use({.stream = 1, .pool = 1});
  EXPECT_EQ(reserved(), 80 * kMiB) << "each stream has its part of a private pool";
}

TEST_F(CachingSources, PressureReturnsTheSegmentsOfAllStreamsButNotOfPrivatePools) {
  use({.stream = 1}, 40 * kMiB);
  use({.pool = 1}, 40 * kMiB);
  use({}, 60 * kMiB);
  EXPECT_EQ(reserved(), 100 * kMiB);
  EXPECT_EQ(caching_.statistics().flushes, 1u);
  caching_.release_cached();
  EXPECT_EQ(reserved(), 40 * kMiB) << "a graph may still use their addresses";
}

TEST_F(CachingSources, OtherStreamsFreeBytesFragmentTheDevice) {
  caching_.request_from({.pool = 1});
  caching_.allocate(60 * kMiB).reset();
  caching_.request_from({});
  try {
    caching_.allocate(60 * kMiB);
    FAIL() << "served";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kFragmentation);
    EXPECT_EQ(refusal.facts().device_free_bytes, 40 * kMiB);
  }
}

TEST_F(CachingSources, GarbageCollectionLooksAtAllStreams) {
  CachingAllocator caching(device_, {.garbage_collection_threshold = 0.3});
  for (const std::uint32_t stream : {0u, 1u}) {
    caching.request_from({.stream = stream});
    caching.allocate(20 * kMiB).reset();
  }
  caching.request_from({.stream = 2});
  caching.allocate(20 * kMiB).reset();
  EXPECT_EQ(caching.statistics().reserved_bytes, 40 * kMiB) << "the oldest block was returned";
}

TEST_F(CachingSources, EachHasExpandableSegmentsOfItsOwn) {
  CachingAllocator caching(device_, {.expandable_segments = true});
  for (const RequestSource source :
       {RequestSource{}, RequestSource{.stream = 1}, RequestSource{.pool = 1}}) {
    caching.request_from(source);
    caching.allocate(20 * kMiB).reset();
    caching.allocate(20 * kMiB).reset();
  }
  EXPECT_EQ(caching.statistics().reserved_bytes, 60 * kMiB);
  EXPECT_EQ(caching.segments().size(), 3u);
}

TEST_F(CachingSources, EverythingIsReturnedAtTheEnd) {
  {
    CachingAllocator caching(device_);
    caching.request_from({.stream = 3, .pool = 2});
    caching.allocate(kMiB).reset();
    EXPECT_EQ(device_.statistics().reserved_bytes, 2 * kMiB);
  }
  EXPECT_EQ(device_.statistics().reserved_bytes, 0u);
}

TEST_F(CachingSources, AllocatorsSayWhetherTheyKeepSourcesApart) {
  Adaptor adaptor(caching_);
  EXPECT_TRUE(adaptor.request_from({.stream = 1}));
  BestFitPool pool(device_);
  EXPECT_FALSE(pool.request_from({.stream = 1}));
}

}  // namespace
}  // namespace skyline
