#include "data/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/loader.h"
#include "tests/data/data_error_of.h"
#include "tests/memory/machine/machine_root.h"

namespace skyline {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

TEST(HostMemory, RefusesMoreThanThereIsAndSaysHowMuch) {
  EXPECT_GT(available_host_memory().bytes, std::uint64_t{1} << 20);
  require_host_memory("data", "one byte", 1);
  EXPECT_THAT(data_error_of([] { require_host_memory("data", "all", std::uint64_t{1} << 60); }),
              AllOf(HasSubstr("[data] all takes 1073741824.0 GiB of memory, but "),
                    AnyOf(HasSubstr(" GiB are available"), HasSubstr(" GiB are free of "))));
}

// A machine with 2 GiB available, and 1 GiB of swap.
class HostMemoryOf : public testing::Test {
 protected:
  HostMemoryOf() {
    root_.write("proc/meminfo",
                "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\nHugePages_Total: 0\n"
                "SwapFree: 1048576 kB\n");
  }
  // Limits this process's cgroup, which uses 256 MiB.
  void limit(std::uint64_t bytes) {
    root_.write("proc/self/cgroup", "0::/jobs\n");
    root_.write("sys/fs/cgroup/jobs/memory.max", std::to_string(bytes));
    root_.write("sys/fs/cgroup/jobs/memory.current", std::to_string(std::uint64_t{256} << 20));
  }
  std::string problem(std::uint64_t bytes) {
    return data_error_of([&] { require_host_memory("data", "all", bytes, root_.path()); });
  }

  MachineRoot root_;
};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST_F(HostMemoryOf, TheMachineIsWhatIsAvailableAndSwap) {
  EXPECT_EQ(available_host_memory(root_.path()).bytes, 3 * kGiB);
  require_host_memory("data", "all", 3 * kGiB, root_.path());
  EXPECT_THAT(problem(3 * kGiB + 1), HasSubstr("3.0 GiB of memory, but 3.0 GiB are available"));
}

TEST_F(HostMemoryOf, ACgroupIsWhatItLeavesFreeIfThatIsLess) {
  limit(8 * kGiB);
  EXPECT_EQ(available_host_memory(root_.path()).bytes, 3 * kGiB);
  limit(kGiB);
  EXPECT_EQ(available_host_memory(root_.path()).bytes, kGiB * 3 / 4);
  require_host_memory("data", "all", kGiB * 3 / 4, root_.path());
  EXPECT_THAT(problem(kGiB),
              HasSubstr("[data] all takes 1.0 GiB of memory, but 0.8 GiB are free of "
                        "memory.max of cgroup /jobs"));
}

// So many images that no machine holds a batch of them, or their order.
class Endless : public Dataset {
 public:
  explicit Endless(std::size_t size) : size_(size) {}
  const std::string& name() const noexcept override { return name_; }
  std::size_t size() const noexcept override { return size_; }
  ImageShape image_shape() const noexcept override { return {3, 1024, 1024}; }
  const std::vector<std::string>& class_names() const noexcept override { return classes_; }
  void read(const Sample&, float*, std::int32_t*) const override {}

 private:
  const std::size_t size_;
  const std::string name_ = "endless";
  const std::vector<std::string> classes_ = {"0"};
};

TEST(HostMemory, ALoaderTakesNoMemoryThatThereIsNot) {
  const auto problem = [](std::size_t size, std::size_t batch_size) {
    const Endless data(size);
    return data_error_of([&] { Loader(data, {.batch_size = batch_size, .prefetch = 2}, {}); });
  };
  EXPECT_THAT(problem(std::size_t{1} << 50, 1),
              HasSubstr("the order of 1125899906842624 images takes 8388608.0 GiB of memory"));
  EXPECT_THAT(problem(100'000'000, 100'000'000),
              HasSubstr("reading a batch of 100000000 images takes "));
}

}  // namespace
}  // namespace skyline
