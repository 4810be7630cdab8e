// Random programs on every row of conformance_allocators.cpp: similar steps that deviate in every
// way. CheckingAdaptor, the contents of blocks and a model of the counters watch them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/device/cpu_device.h"
#include "tests/memory/conformance/conformance_allocators.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr std::size_t kCapacityBytes = std::size_t{16} << 20;
constexpr unsigned kSeeds = 150;

class RandomProgram {
 public:
  RandomProgram(Allocator& allocator, unsigned seed) : allocator_(allocator), random_(seed) {
    for (std::size_t i = 0; i < 4 + below(16); ++i) habit_.push_back(1 + below(6000));
  }

  void run() {
    for (std::size_t i = 0; i < below(4); ++i) request(below(5000), 30);
    const std::size_t steps = 3 + below(10);
    for (std::size_t step = 0; step < steps; ++step) {
      run_step(below(3));
      if (chance(5)) allocator_.release_cached();
      if (chance(20)) request(below(5000), 2);
    }
    while (!live_.empty()) free_one(live_.size() - 1);
    check_counters();
  }

 private:
  struct Live {
    Block block;
    unsigned char fill = 0;
    std::size_t steps_left = 0;  // freed by then at the latest
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  void run_step(ShapeKey key) {
    allocator_.begin_step(key);
    for (std::size_t bytes : habit_) {
      if (chance(3)) continue;
      if (chance(4)) bytes += below(20000);
      if (chance(4)) bytes -= below(bytes);
      request(bytes, chance(5) ? 1 + below(4) : 0);
      if (chance(4)) request(below(8000), 0);
      if (chance(5)) request_interrupted();
      while (!live_.empty() && chance(45)) free_one(below(live_.size()));
    }
    if (chance(2)) allocator_.release_cached();
    for (std::size_t i = live_.size(); i-- > 0;) {
      if (live_[i].steps_left-- == 0) free_one(i);
    }
    allocator_.end_step();
    check_counters();
  }

  void request_interrupted() {
    Interruption interruption(allocator_);
    for (std::size_t i = 0; i < 1 + below(3); ++i) request(below(9000), below(2));
    if (!live_.empty()) free_one(below(live_.size()));
  }

  void request(std::size_t bytes, std::size_t steps) {
    Block block;
    try {
      block = allocator_.allocate(bytes, {.op = "random"});
    } catch (const OutOfMemory&) {
      return;  // network-wise may fill the device; the counters must not change
    }
    const auto fill = static_cast<unsigned char>(random_());
    std::memset(block.address(), fill, bytes);
    live_.push_back({std::move(block), fill, steps});
    ++requests_;
    requested_bytes_ += bytes;
  }

  void free_one(std::size_t index) {
    const Live live = std::move(live_[index]);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    const std::byte* first = live.block.address();
    ASSERT_TRUE(std::all_of(first, first + live.block.bytes(), [&](std::byte b) {
      return b == std::byte{live.fill};
    })) << "the contents of a live block changed";
    requested_bytes_ -= live.block.bytes();
    ++releases_;
  }

  void check_counters() const {
    const Statistics statistics = allocator_.statistics();
    ASSERT_EQ(statistics.requested_bytes, requested_bytes_);
    ASSERT_EQ(statistics.requests, requests_);
    ASSERT_EQ(statistics.releases, releases_);
  }

  Allocator& allocator_;
  std::mt19937 random_;
  std::vector<std::size_t> habit_;
  std::vector<Live> live_;
  std::uint64_t requests_ = 0, releases_ = 0;
  std::size_t requested_bytes_ = 0;
};

class RandomConformance : public testing::TestWithParam<ConformanceRow> {};

TEST_P(RandomConformance, NoByteIsSharedAndTheCountersAreRight) {
  for (unsigned k = 0; k < kSeeds && !HasFatalFailure(); ++k) {
    const auto seed = static_cast<unsigned>(first_seed() + k);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CpuDevice device(kCapacityBytes);
    {
      Chain chain = GetParam().make(device);
      CheckingAdaptor checking(chain.top());
      RandomProgram(checking, seed).run();
      const Statistics statistics = checking.statistics();
      EXPECT_EQ(statistics.allocated_bytes, 0u);
      EXPECT_EQ(statistics.reserved_bytes, device.statistics().reserved_bytes);
      EXPECT_EQ(statistics.peak_reserved_bytes, device.statistics().peak_reserved_bytes);
      EXPECT_EQ(statistics.device_allocations, device.statistics().allocations);
      EXPECT_EQ(statistics.device_frees, device.statistics().frees);
    }
    EXPECT_EQ(device.statistics().reserved_bytes, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Allocators, RandomConformance, testing::ValuesIn(conformance_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace skyline
