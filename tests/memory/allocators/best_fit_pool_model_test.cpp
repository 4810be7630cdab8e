// BestFitPool against a second model, written naively from the words of ALLOCATORS.md section 3:
// every address, counter and refusal of random event traces must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

constexpr std::uint64_t kBoundary = std::uint64_t{2} << 20;
constexpr unsigned kTraces = 12000;

// Pieces of device allocations in one flat list by address; every question is a scan over it.
class NaivePool {
 public:
  explicit NaivePool(std::uint64_t capacity) : capacity_(capacity) {}

  std::optional<std::uint64_t> request(std::uint64_t bytes) {
    bytes = bytes == 0 ? 512 : (bytes + 511) / 512 * 512;
    const std::uint64_t free_before = sum(true);
    if (auto found = serve(bytes)) return found;
    if (reserved() + bytes > capacity_) {
      const auto unsplit = [&](const Piece& p) { return p.free && p.bytes == p.whole; };
      if (std::erase_if(pieces_, unsplit) > 0) ++flushes_;
    }
    if (reserved() + bytes > capacity_) {
      fragmented_ = free_before >= bytes;
      return {};
    }
    pieces_.push_back({next_, bytes, next_, bytes, false});
    next_ = (next_ + bytes + kBoundary - 1) / kBoundary * kBoundary;
    peak_ = std::max(peak_, reserved());
    return pieces_.back().address;
  }

  void free(std::uint64_t address) {
    for (Piece& piece : pieces_) piece.free = piece.free || piece.address == address;
    for (std::size_t i = 0; i + 1 < pieces_.size();) {
      Piece& a = pieces_[i];
      const Piece& b = pieces_[i + 1];
      if (a.free && b.free && a.region == b.region) {
        a.bytes += b.bytes;
        pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      } else {
        ++i;
      }
    }
  }

  std::uint64_t reserved() const { return sum(true) + sum(false); }
  std::uint64_t sum(bool free) const {
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces_) bytes += piece.free == free ? piece.bytes : 0;
    return bytes;
  }
  std::uint64_t largest_free() const {
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces_) bytes = std::max(bytes, piece.free ? piece.bytes : 0);
    return bytes;
  }
  std::uint64_t peak() const { return peak_; }
  std::uint64_t flushes() const { return flushes_; }
  bool fragmented() const { return fragmented_; }

 private:
  struct Piece {
    std::uint64_t address, bytes;
    std::uint64_t region, whole;  // the device allocation: address, bytes
    bool free;
  };

  std::optional<std::uint64_t> serve(std::uint64_t bytes) {
    std::size_t best = pieces_.size();
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const bool fits = pieces_[i].free && pieces_[i].bytes >= bytes;
      if (fits && (best == pieces_.size() || pieces_[i].bytes < pieces_[best].bytes)) best = i;
    }
    if (best == pieces_.size()) return {};
    Piece rest = pieces_[best];
    pieces_[best].bytes = bytes;
    pieces_[best].free = false;
    rest.address += bytes;
    rest.bytes -= bytes;
    const auto behind = pieces_.begin() + static_cast<std::ptrdiff_t>(best) + 1;
    if (rest.bytes > 0) pieces_.insert(behind, rest);
    return pieces_[best].address;
  }

  std::uint64_t capacity_;
  std::vector<Piece> pieces_;
  std::uint64_t next_ = kBoundary;
  std::uint64_t peak_ = 0, flushes_ = 0;
  bool fragmented_ = false;
};

struct Coverage {
  std::uint64_t flushes = 0, device_full = 0, fragmented = 0;
};

// One random trace on both; stops at the first difference.
void compare_on_trace(unsigned seed, Coverage& coverage) {
  std::mt19937 random(seed);
  const std::size_t capacity = random() % 3 == 0 ? (1u << 24) : 8192 + random() % 120000;
  const std::size_t most_bytes = 512 + random() % 12000;
  SimulatedDevice device(capacity);
  BestFitPool pool(device);
  NaivePool model(capacity);
  std::vector<Block> live;
  const std::size_t events = 40 + random() % 80;
  for (std::size_t event = 0; event < events; ++event) {
    if (!live.empty() && random() % 100 < 45) {
      std::swap(live[random() % live.size()], live.back());
      model.free(reinterpret_cast<std::uint64_t>(live.back().address()));
      live.pop_back();
    } else {
      const std::size_t bytes = random() % most_bytes;
      const auto expected = model.request(bytes);
      try {
        live.push_back(pool.allocate(bytes));
        ASSERT_TRUE(expected) << "the model refuses event " << event;
        ASSERT_EQ(reinterpret_cast<std::uint64_t>(live.back().address()), *expected) << event;
      } catch (const OutOfMemory& refusal) {
        ASSERT_FALSE(expected) << "the model serves event " << event;
        const bool fragmented = refusal.facts().shortage == Shortage::kFragmentation;
        ASSERT_EQ(fragmented, model.fragmented()) << event;
        ++(fragmented ? coverage.fragmented : coverage.device_full);
      }
    }
    const Statistics statistics = pool.statistics();
    ASSERT_EQ(statistics.reserved_bytes, model.reserved()) << event;
    ASSERT_EQ(statistics.allocated_bytes, model.sum(false)) << event;
    ASSERT_EQ(statistics.largest_free_block_bytes, model.largest_free()) << event;
    ASSERT_EQ(statistics.peak_reserved_bytes, model.peak()) << event;
    ASSERT_EQ(statistics.flushes, model.flushes()) << event;
  }
  coverage.flushes += model.flushes();
}

TEST(BestFitPoolModel, AgreesOnRandomTraces) {
  Coverage coverage;
  for (unsigned seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    compare_on_trace(seed, coverage);
    if (HasFatalFailure()) return;
  }
  // The traces reach what they are for.
  EXPECT_GT(coverage.flushes, 1000u);
  EXPECT_GT(coverage.device_full, 1000u);
  EXPECT_GT(coverage.fragmented, 1000u);
}

}  // namespace
}  // namespace skyline
