// BestFitPool against an independent naive model of best_fit_pool.h.
#include <gtest/gtest.h>

#include "memory/allocators/best_fit_pool.h"
#include "tests/memory/allocators/naive_model.h"

namespace skyline {
namespace {

bool any(const Piece&) { return true; }

class NaiveBestFitPool final : public NaiveModel {
 public:
  using NaiveModel::NaiveModel;
  void release_cached() override { give_back(any); }

 private:
  std::optional<std::size_t> serve(std::uint64_t bytes) override {
    bytes = bytes == 0 ? 512 : (bytes + 511) / 512 * 512;
    if (const auto found = best_fit(bytes, any)) {
      pieces_[*found].free = false;
      split(*found, bytes);
      return found;
    }
    const bool enough = free_bytes() >= bytes;
    if (const auto taken = take_segment(bytes)) return taken;
    flush();
    blame(bytes, bytes, enough);
    return take_segment(bytes);
  }
  void freed(std::size_t) override { merge_free(); }
};

TEST(BestFitPoolModel, AgreesOnRandomTraces) {
  const Coverage coverage = compare_on_small_devices<BestFitPool, NaiveBestFitPool>();
  // The traces reach every case.
  EXPECT_GT(coverage.flushes, random_traces() / 10);
  EXPECT_GT(coverage.device_full, random_traces() / 10);
  EXPECT_GT(coverage.fragmented, random_traces() / 10);
}

}  // namespace
}  // namespace skyline
