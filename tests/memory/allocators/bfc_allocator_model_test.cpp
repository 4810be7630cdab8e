// BfcAllocator against an independent naive model of bfc_allocator.h, bins and all.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/allocators/bfc_allocator.h"
#include "tests/memory/allocators/naive_model.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

constexpr int kBins = 21;

bool any_chunk(const Piece&) { return true; }

// Bin b holds sizes from 256 · 2^b.
int bin_of(std::uint64_t bytes) {
  int bin = 0;
  while (bin + 1 < kBins && bytes >= std::uint64_t{256} << (bin + 1)) ++bin;
  return bin;
}

class NaiveBfc final : public NaiveModel {
 public:
  NaiveBfc(std::uint64_t capacity, const BfcOptions& options)
      : NaiveModel(capacity),
        limit_(std::min(capacity, options.limit_bytes.value_or(capacity))),
        region_((std::min(limit_, options.growth ? 2 * kMiB : limit_) + 255) / 256 * 256) {
    null_for_zero_ = true;
  }
  void release_cached() override { give_back(any_chunk); }

 private:
  std::optional<std::size_t> serve(std::uint64_t bytes) override {
    bytes = bytes == 0 ? 256 : (bytes + 255) / 256 * 256;
    auto found = find(bytes);
    if (!found) found = extend(bytes);
    if (!found) return {};
    pieces_[*found].free = false;
    const std::uint64_t have = pieces_[*found].bytes;
    if (have >= 2 * bytes || have - bytes >= 128 * kMiB) split(*found, bytes);
    return found;
  }

  std::optional<std::size_t> find(std::uint64_t bytes) const {
    for (int bin = bin_of(bytes); bin < kBins; ++bin) {
      const auto found = best_fit(bytes, [bin](const Piece& p) { return bin_of(p.bytes) == bin; });
      if (found) return found;
    }
    return {};
  }

  std::optional<std::size_t> extend(std::uint64_t bytes) {
    const std::uint64_t left = (limit_ - device_.reserved) / 256 * 256;
    if (bytes > left) {
      shortage_ = limit_ < device_.capacity ? Shortage::kLimit : Shortage::kDevice;
      if (free_bytes() + limit_ - device_.reserved >= bytes) shortage_ = Shortage::kFragmentation;
      return {};
    }
    bool doubled = false;
    for (; bytes > region_; region_ *= 2) doubled = true;
    const auto taken = take_segment(std::min(region_, left));
    if (!doubled) region_ = std::min(2 * region_, std::uint64_t{1} << 62);
    return taken;
  }
  void freed(std::size_t) override { merge_free(); }

  std::uint64_t limit_;
  std::uint64_t region_;  // the next one
};

TEST(BfcAllocatorModel, AgreesOnRandomTracesWithRandomOptions) {
  Coverage coverage;
  compare_random_traces([&coverage](std::mt19937& random) {
    const std::size_t capacity = random() % 4 == 0 ? 4096 * kMiB : kMiB + random() % (40 * kMiB);
    BfcOptions options{.growth = random() % 3 > 0, .limit_bytes = {}};
    if (random() % 3 == 0) options.limit_bytes = random() % (2 * capacity);
    SimulatedDevice device(capacity);
    BfcAllocator allocator(device, options);
    NaiveBfc model(capacity, options);
    const std::size_t most_bytes = capacity / (1 + random() % 30);
    const auto bytes = [most_bytes](std::mt19937& bits) {
      return bits() % 4 == 0 ? bits() % 2000 : bits() % most_bytes;
    };
    compare_with_model(allocator, model, {.events = 40 + random() % 80, .bytes = bytes}, random,
                       coverage);
  });
  EXPECT_GT(coverage.device_full, random_traces() / 10);
  EXPECT_GT(coverage.fragmented, random_traces() / 10);
  EXPECT_GT(coverage.limited, random_traces() / 10);
  EXPECT_EQ(coverage.flushes, 0u);
}

}  // namespace
}  // namespace skyline
