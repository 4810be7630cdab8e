#include "memory/adaptors/checking_adaptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

// Hands out the given addresses; counts releases.
class ScriptedAllocator final : public Allocator {
 public:
  explicit ScriptedAllocator(std::vector<std::uintptr_t> addresses)
      : addresses_(std::move(addresses)) {}
  Extent acquire(std::size_t bytes, const Tag&) override {
    return {reinterpret_cast<std::byte*>(addresses_.at(next_++)), bytes, 0};
  }
  void release(const Extent&) noexcept override { ++releases_; }
  Statistics statistics() const override { return {}; }
  int releases() const { return releases_; }

 private:
  std::vector<std::uintptr_t> addresses_;
  std::size_t next_ = 0;
  int releases_ = 0;
};

constexpr Tag kLive{.op = "conv2d", .layer = "conv1"};
constexpr Tag kGranted{.op = "relu", .layer = "act1"};

// One byte of overlap on either side, inside, around, and of blocks without bytes.
TEST(CheckingAdaptor, FindsEveryKindOfOverlap) {
  struct Case {
    std::uintptr_t address;
    std::size_t bytes;
  };
  for (const auto& [address, bytes] : {Case{0x1000, 512}, Case{0xE01, 512}, Case{0x11FF, 100},
                                       Case{0x1080, 8}, Case{0x800, 8192}, Case{0x1000, 0}}) {
    ScriptedAllocator scripted({0x1000, address});
    CheckingAdaptor checking(scripted);
    Block live = checking.allocate(512, kLive);
    try {
      checking.allocate(bytes, kGranted);
      FAIL() << "expected SharedBytes at " << address;
    } catch (const SharedBytes& shared) {
      EXPECT_EQ(shared.live_tag().op, "conv2d");
      EXPECT_EQ(shared.granted_tag().layer, "act1");
      EXPECT_THAT(shared.what(), testing::HasSubstr("relu of act1"));
      EXPECT_THAT(shared.what(), testing::HasSubstr("conv2d of conv1"));
    }
    EXPECT_EQ(scripted.releases(), 1) << "the shared hand-out is given back";
    EXPECT_EQ(checking.live_blocks(), 1u);
  }
}

TEST(CheckingAdaptor, NeighboursDoNotOverlap) {
  ScriptedAllocator scripted({0x1000, 0xE00, 0x1200, 0x4000});
  CheckingAdaptor checking(scripted);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(checking.allocate(512));
  EXPECT_EQ(checking.live_blocks(), 4u);
}

TEST(CheckingAdaptor, FreedBytesMayBeHandedOutAgain) {
  ScriptedAllocator scripted({0x1000, 0x1000, 0x1000});
  CheckingAdaptor checking(scripted);
  checking.allocate(512).reset();
  Block again = checking.allocate(512);
  EXPECT_THROW(checking.allocate(1), SharedBytes);
}

TEST(CheckingAdaptor, IsSilentOverAnHonestAllocator) {
  SimulatedDevice device;
  BestFitPool pool(device);
  CheckingAdaptor checking(pool);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < 200; ++i) {
    blocks.push_back(checking.allocate(i * 37));
    if (i % 3 == 0) blocks[i / 2].reset();
  }
  EXPECT_LT(checking.live_blocks(), 200u);
}

}  // namespace
}  // namespace skyline
