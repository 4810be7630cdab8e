// ExactPool against an independent naive model of exact_pool.h.
#include <gtest/gtest.h>

#include "memory/allocators/exact_pool.h"
#include "tests/memory/allocators/naive_model.h"

namespace skyline {
namespace {

class NaiveExactPool final : public NaiveModel {
 public:
  using NaiveModel::NaiveModel;
  void release_cached() override {
    give_back([](const Piece&) { return true; });
  }

 private:
  std::optional<std::size_t> serve(std::uint64_t bytes) override {
    bytes = bytes == 0 ? 256 : (bytes + 255) / 256 * 256;
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!pieces_[i].free || pieces_[i].bytes != bytes) continue;
      if (!last || pieces_[i].freed_at > pieces_[*last].freed_at) last = i;
    }
    if (last) {
      pieces_[*last].free = false;
      return last;
    }
    if (const auto taken = take_segment(bytes)) return taken;
    flush();
    return take_segment(bytes);
  }
  void freed(std::size_t index) override { pieces_[index].freed_at = ++clock_; }

  std::uint64_t clock_ = 0;
};

TEST(ExactPoolModel, AgreesOnRandomTraces) {
  const Coverage coverage = compare_on_small_devices<ExactPool, NaiveExactPool>();
  EXPECT_GT(coverage.flushes, random_traces() / 10);
  EXPECT_GT(coverage.device_full, random_traces() / 10);
  EXPECT_EQ(coverage.fragmented, 0u) << "all that is free goes back";
}

}  // namespace
}  // namespace skyline
