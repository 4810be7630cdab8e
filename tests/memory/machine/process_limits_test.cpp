#include "memory/machine/machine_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "memory/device/cpu_device.h"
#include "memory/device/out_of_memory.h"
#include "memory/session/session.h"
#include "tests/memory/machine/machine_root.h"
#include "tests/memory/units.h"

#ifdef SKYLINE_SANITIZED
constexpr bool kSanitized = true;  // the sanitizer's shadow takes terabytes of addresses
#else
constexpr bool kSanitized = false;
#endif

namespace skyline {
namespace {

// Sets a limit of this process and sets the old one again.
class Limit {
 public:
  Limit(decltype(RLIMIT_AS) resource, std::size_t bytes) : resource_(resource) {
    getrlimit(resource, &old_);
    const rlimit lower{bytes, old_.rlim_max};
    if (setrlimit(resource, &lower) != 0) ADD_FAILURE() << "setrlimit failed";
  }
  ~Limit() { setrlimit(resource_, &old_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  decltype(RLIMIT_AS) resource_;
  rlimit old_{};
};

std::size_t used_addresses() {
  const Limit any(RLIMIT_AS, std::size_t{1} << 46);
  return address_limit()->used_bytes;
}
std::size_t used_data() {
  const Limit any(RLIMIT_DATA, std::size_t{1} << 46);
  return process_limits().back().used_bytes;
}

// Limits and use are compared up to a few MiB: the heap, too, returns pages to the system.
class ProcessLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "limits of addresses leave no room for a sanitizer's shadow";
  }
  const MachineRoot root_;  // without cgroups
};

TEST_F(ProcessLimitsTest, AreReadWithTheirUse) {
  const std::size_t used_bytes = used_addresses();
  const Limit limit(RLIMIT_AS, used_bytes + 64 * kMiB);
  ASSERT_TRUE(address_limit());
  EXPECT_EQ(address_limit()->name, "RLIMIT_AS (ulimit -v)");
  EXPECT_EQ(address_limit()->limit_bytes, used_bytes + 64 * kMiB);
  EXPECT_NEAR(static_cast<double>(address_limit()->free_bytes()), 64.0 * kMiB, 2.0 * kMiB);
}

TEST_F(ProcessLimitsTest, TheDeviceCountsThemAndSaysWhichRefused) {
  const Limit limit(RLIMIT_AS, used_addresses() + 256 * kMiB);
  CpuDevice by_default({}, root_.path());
  EXPECT_NEAR(static_cast<double>(by_default.capacity_bytes()), 208.0 * kMiB, 2.0 * kMiB);
  CpuDevice device(std::size_t{1} << 40, root_.path());
  const auto refused = [](const char* name) {
    return testing::ThrowsMessage<OutOfMemory>(testing::HasSubstr(name));
  };
  EXPECT_THAT([&] { device.allocate(400 * kMiB); }, refused("(RLIMIT_AS (ulimit -v) is reached)"));
  EXPECT_THAT([&] { device.reserve(400 * kMiB); }, refused("(RLIMIT_AS (ulimit -v) is reached)"));
  const auto range = device.reserve(8 * kMiB);
  EXPECT_THAT([&] { range->commit(9 * kMiB); }, refused("(RLIMIT_AS (ulimit -v) is reached)"));
}

TEST_F(ProcessLimitsTest, ARangeOpensOnlyWhatTheDataLimitPermits) {
  const Limit limit(RLIMIT_DATA, used_data() + 64 * kMiB);
  CpuDevice device(std::size_t{1} << 40, root_.path());
  const auto range = device.reserve(256 * kMiB);  // closed addresses are no data
  range->commit(16 * kMiB);
  EXPECT_THAT([&] { range->commit(200 * kMiB); },
              testing::ThrowsMessage<OutOfMemory>(
                  testing::HasSubstr("(RLIMIT_DATA (ulimit -d) is reached)")));
  EXPECT_EQ(range->committed_bytes(), 16 * kMiB);
}

TEST_F(ProcessLimitsTest, WithoutALimitTheKernelsOwnWordsAreKept) {
  errno = ENOMEM;
  if (process_limits().empty()) {
    EXPECT_EQ(refusing_limit(1).name, "Cannot allocate memory");
  } else {
    EXPECT_EQ(refusing_limit(1).limit_bytes, 0u);
  }
}

// An arena reserves addresses for plans to come, but no more than there are.
TEST_F(ProcessLimitsTest, ASessionPlansWithinFewAddresses) {
  const Limit limit(RLIMIT_AS, used_addresses() + 256 * kMiB);
  CpuDevice device(std::size_t{1} << 40, root_.path());
  Session session(device, {.background = false});
  for (int step = 0; step < 3; ++step) {
    session.begin_step(0);
    { const Block block = session.allocate(16 * kMiB, {}); }
    session.end_step();
  }
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  EXPECT_EQ(session.session_statistics().failed_replans, 0u);
  EXPECT_GE(address_limit()->free_bytes(), 48 * kMiB) << "the range left something";
}

}  // namespace
}  // namespace skyline
