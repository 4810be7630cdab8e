#include "memory/machine/machine_memory.h"

#include <gtest/gtest.h>

#include "tests/memory/machine/machine_root.h"

namespace skyline {
namespace {

constexpr const char* kSecond = "sys/fs/cgroup";
constexpr const char* kFirst = "sys/fs/cgroup/memory";

std::string in(const char* base, const std::string& file) { return std::string(base) + file; }

class CgroupLimitsTest : public testing::Test {
 protected:
  std::vector<MemoryLimit> limits() const { return CgroupLimits(root_.path()).now(); }

  MachineRoot root_;
};

TEST_F(CgroupLimitsTest, ReadsTheOwnCgroupAndItsParents) {
  root_.write("proc/self/cgroup", "0::/jobs/seven\n");
  root_.write(in(kSecond, "/jobs/seven/memory.max"), "max\n");
  root_.write(in(kSecond, "/jobs/memory.max"), "314572800\n");
  root_.write(in(kSecond, "/jobs/memory.current"), "104857600\n");
  root_.write(in(kSecond, "/jobs/memory.stat"), "anon 5\ninactive_file 1000\nactive_file 200\n");
  root_.write(in(kSecond, "/other/memory.max"), "1\n");
  ASSERT_EQ(limits().size(), 1u);
  EXPECT_EQ(limits()[0].name, "memory.max of cgroup /jobs");
  EXPECT_EQ(limits()[0].limit_bytes, 314572800u);
  EXPECT_EQ(limits()[0].used_bytes, 104857600u - 1200) << "cached files are free";
  EXPECT_EQ(limits()[0].free_bytes(), 314572800u - 104857600 + 1200);
}

TEST_F(CgroupLimitsTest, ReadsVersionOne) {
  root_.write("proc/self/cgroup", "9:name=systemd:/x\n5:cpu,memory:/jobs/seven\n1:cpu:/y\n0::/z\n");
  root_.write(in(kFirst, "/memory.limit_in_bytes"), "9223372036854771712\n");
  root_.write(in(kFirst, "/jobs/seven/memory.limit_in_bytes"), "4096000\n");
  root_.write(in(kFirst, "/jobs/seven/memory.usage_in_bytes"), "4000000\n");
  root_.write(in(kFirst, "/jobs/seven/memory.stat"),
              "inactive_file 7\ntotal_inactive_file 100\ntotal_active_file 50\n");
  ASSERT_EQ(limits().size(), 1u);
  EXPECT_EQ(limits()[0].name, "memory.limit_in_bytes of cgroup /jobs/seven");
  EXPECT_EQ(limits()[0].used_bytes, 4000000u - 150);
}

// A container without a namespace of its own reads the host's path but sees its cgroup at the top.
TEST_F(CgroupLimitsTest, AContainerSeesItsCgroupAtTheTop) {
  root_.write("proc/self/cgroup", "4:memory:/docker/0123\n");
  root_.write(in(kFirst, "/memory.limit_in_bytes"), "314572800\n");
  ASSERT_EQ(limits().size(), 1u);
  EXPECT_EQ(limits()[0].name, "memory.limit_in_bytes of cgroup /");
  EXPECT_EQ(limits()[0].used_bytes, 0u) << "an unreadable figure counts as none";
}

TEST_F(CgroupLimitsTest, TheHighMarkIsALimitToo) {
  root_.write("proc/self/cgroup", "0::/a\n");
  root_.write(in(kSecond, "/a/memory.max"), "2000\n");
  root_.write(in(kSecond, "/a/memory.high"), "1500\n");
  root_.write(in(kSecond, "/a/memory.current"), "1000\n");
  ASSERT_EQ(limits().size(), 2u);
  EXPECT_EQ(tightest(limits())->name, "memory.high of cgroup /a");
  EXPECT_EQ(tightest(limits())->free_bytes(), 500u);
}

TEST_F(CgroupLimitsTest, ReadsTheUseAnewEachTime) {
  root_.write("proc/self/cgroup", "0::/a\n");
  root_.write(in(kSecond, "/a/memory.max"), "2000\n");
  root_.write(in(kSecond, "/a/memory.current"), "500\n");
  const CgroupLimits cgroups(root_.path());
  EXPECT_EQ(cgroups.now()[0].free_bytes(), 1500u);
  root_.write(in(kSecond, "/a/memory.current"), "2500\n");
  EXPECT_EQ(cgroups.now()[0].free_bytes(), 0u);
  root_.write(in(kSecond, "/a/memory.max"), "max\n");
  EXPECT_TRUE(cgroups.now().empty());
}

TEST_F(CgroupLimitsTest, DamagedFilesLimitNothing) {
  EXPECT_TRUE(limits().empty());
  root_.write("proc/self/cgroup", "\n:\n0::\n0::/a/../../..\nnonsense\n4:memory\n");
  root_.write(in(kSecond, "/memory.max"), "many\n");
  EXPECT_TRUE(limits().empty());
}

}  // namespace
}  // namespace skyline
