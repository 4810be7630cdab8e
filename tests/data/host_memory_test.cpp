#include "data/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "data/loader.h"
#include "tests/data/data_error_of.h"

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

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// A machine with 2 GiB available and 1 GiB of swap; the destructor takes the limit away.
class HostMemoryOf : public testing::Test {
 protected:
  HostMemoryOf() {
    std::ofstream(meminfo_) << "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n"
                               "HugePages_Total: 0\nSwapFree: 1048576 kB\n";
  }
  ~HostMemoryOf() override { set_host_limit_reader(nullptr); }

  const std::filesystem::path meminfo_ = std::filesystem::path(testing::TempDir()) / "meminfo";
};

TEST_F(HostMemoryOf, TheMachineIsWhatIsAvailableAndSwap) {
  EXPECT_EQ(available_host_memory(meminfo_).bytes, 3 * kGiB);
  EXPECT_EQ(available_host_memory(meminfo_).limit, "");
}

TEST_F(HostMemoryOf, ALimitIsWhatItLeavesFreeIfThatIsLess) {
  set_host_limit_reader([] { return std::optional(HostMemory{8 * kGiB, "memory.max"}); });
  EXPECT_EQ(available_host_memory(meminfo_).bytes, 3 * kGiB);
  set_host_limit_reader([] { return std::optional(HostMemory{1 << 20, "memory.max"}); });
  EXPECT_EQ(available_host_memory(meminfo_).bytes, 1u << 20);
  require_host_memory("data", "all", 1 << 20);
  EXPECT_THAT(data_error_of([] { require_host_memory("data", "all", kGiB); }),
              HasSubstr("[data] all takes 1.0 GiB of memory, but 0.0 GiB are free of memory.max"));
}

TEST_F(HostMemoryOf, WithoutAnyFiguresIsEndless) {
  EXPECT_EQ(available_host_memory(meminfo_ / "none").bytes,
            std::numeric_limits<std::uint64_t>::max());
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
