// CachingAllocator against an independent naive model of ALLOCATORS.md section
// 4 and of caching_allocator.h, under random options.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/allocators/caching_allocator.h"
#include "tests/memory/allocators/naive_model.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

constexpr std::uint64_t kNoOversize = ~std::uint64_t{0};

std::uint64_t up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class NaiveCaching final : public NaiveModel {
 public:
  NaiveCaching(std::uint64_t capacity, const CachingOptions& options)
      : NaiveModel(capacity), options_(options) {}
  void release_cached() override { give_back_all(); }

 private:
  struct Growing {
    std::uint64_t base = 0;  // 0: not reserved
    std::uint64_t committed = 0;
  };

  const char* pool_name(int pool) const override { return pool == 0 ? "small" : "large"; }
  std::uint64_t max_split() const { return options_.max_split_bytes.value_or(kNoOversize); }
  static std::uint64_t page(int pool) { return pool == 0 ? 2 * kMiB : 20 * kMiB; }

  std::uint64_t rounded(std::uint64_t bytes) const {
    if (bytes < 512) return 512;
    const std::uint64_t divisions = options_.roundup_power2_divisions;
    if (divisions <= 1 || bytes <= 512 * divisions) return up(bytes, 512);
    std::uint64_t floor = 1;
    while (floor * 2 <= bytes) floor *= 2;
    return up(bytes, floor / divisions);
  }

  std::optional<std::size_t> serve(std::uint64_t asked) override {
    const std::uint64_t bytes = rounded(asked);
    const int pool = bytes <= kMiB ? 0 : 1;
    ++searches_[pool];
    auto found = find(pool, bytes);
    if (!found) found = from_device(pool, bytes);
    if (!found) return {};
    pieces_[*found].free = false;
    if (!cuts(pool, bytes, pieces_[*found].bytes - bytes)) return found;
    split(*found, bytes);
    pieces_[*found + 1].freed_at = searches_[pool];
    return found;
  }

  bool cuts(int pool, std::uint64_t bytes, std::uint64_t rest) const {
    if (pool == 0 || options_.expandable_segments) return rest >= 512;
    return bytes < max_split() && rest > kMiB;
  }

  std::optional<std::size_t> find(int pool, std::uint64_t bytes) const {
    const auto last = last_of(pool);
    auto found = best_fit(bytes, [pool](const Piece& p) { return p.pool == pool; });
    if (!found) return {};
    if (options_.expandable_segments && found == last) {
      const std::uint64_t end = pieces_[*last].address;
      const auto other =
          best_fit(bytes, [&](const Piece& p) { return p.pool == pool && p.address != end; });
      if (other) found = other;
    }
    const std::uint64_t have = pieces_[*found].bytes;
    if (bytes < max_split() && have >= max_split()) return {};
    if (bytes >= max_split() && have >= bytes + 20 * kMiB) return {};
    return found;
  }

  std::optional<std::size_t> last_of(int pool) const {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].pool == pool) last = i;
    }
    return last;
  }

  std::optional<std::size_t> from_device(int pool, std::uint64_t bytes) {
    const bool enough = free_bytes() >= bytes;
    collect_garbage();
    if (const auto taken = take(pool, bytes)) return taken;
    if (release_oversize(pool, bytes)) {
      if (const auto taken = take(pool, bytes)) return taken;
    }
    if (give_back_all() > 0) ++counts_.flushes;
    shortage_ = enough ? Shortage::kFragmentation : Shortage::kDevice;
    return take(pool, bytes);
  }

  std::optional<std::size_t> take(int pool, std::uint64_t bytes) {
    if (options_.expandable_segments) return grow(pool, bytes);
    if (pool == 0) return take_segment(2 * kMiB, pool);
    return take_segment(bytes < 10 * kMiB ? 20 * kMiB : up(bytes, 2 * kMiB), pool);
  }

  std::optional<std::size_t> grow(int pool, std::uint64_t bytes) {
    Growing& segment = growing_[pool];
    if (segment.base == 0) segment.base = device_.take_addresses(up(device_.capacity, page(pool)));
    const auto last = last_of(pool);
    const bool grows = last && pieces_[*last].free;
    const std::uint64_t have = grows ? pieces_[*last].bytes : 0;
    if (have >= bytes) return last;
    const std::uint64_t more = up(segment.committed - have + bytes, page(pool)) - segment.committed;
    if (!device_.fits(more)) return {};
    device_.reserved += more;
    ++device_.allocations;
    const std::uint64_t end = segment.base + segment.committed;
    segment.committed += more;
    if (!grows) return add({.address = end, .bytes = more, .segment = segment.base, .pool = pool});
    pieces_[*last].bytes += more;
    return last;
  }

  std::uint64_t give_back_all() {
    if (options_.expandable_segments) return trim(0) + trim(1);
    return give_back([](const Piece&) { return true; });
  }

  std::uint64_t trim(int pool) {
    const auto last = last_of(pool);
    if (!last || !pieces_[*last].free) return 0;
    Growing& segment = growing_[pool];
    const std::uint64_t kept = up(pieces_[*last].address - segment.base, page(pool));
    const std::uint64_t given = segment.committed - kept;
    if (given == 0) return 0;
    device_.give_back(given);
    segment.committed = kept;
    pieces_[*last].bytes -= given;
    if (pieces_[*last].bytes == 0) {
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(*last));
    }
    return given;
  }

  bool collectable(const Piece& piece) const {
    return piece.pool == 1 && piece.free && whole(piece);
  }

  // Returns the candidates of at least average age, until the excess is gone.
  void collect_garbage() {
    if (options_.garbage_collection_threshold == 0 || options_.expandable_segments) return;
    const auto threshold = static_cast<std::uint64_t>(options_.garbage_collection_threshold *
                                                      static_cast<double>(device_.capacity));
    while (device_.reserved > threshold) {
      double ages = 0, count = 0;
      const auto age = [this](const Piece& p) {
        return static_cast<double>(searches_[1] - p.freed_at);
      };
      for (const Piece& piece : pieces_) {
        if (!collectable(piece)) continue;
        ages += age(piece);
        ++count;
      }
      if (count == 0) return;
      give_back([&](const Piece& p) { return p.pool == 1 && age(p) >= ages / count; });
    }
  }

  bool release_oversize(int pool, std::uint64_t bytes) {
    if (max_split() == kNoOversize || options_.expandable_segments) return false;
    const std::uint64_t wanted = std::max(bytes, max_split());
    std::uint64_t given = 0;
    if (const auto one = best_fit(wanted, [pool](const Piece& p) { return p.pool == pool; })) {
      given = give_back_at(pieces_[*one].address);
    }
    while (given < wanted) {
      const Piece* largest = nullptr;
      for (const Piece& piece : pieces_) {
        if (!piece.free || piece.pool != pool || piece.bytes < max_split()) continue;
        if (largest == nullptr || piece.bytes >= largest->bytes) largest = &piece;
      }
      if (largest == nullptr) break;
      given += give_back_at(largest->address);
    }
    if (given > 0) ++counts_.flushes;
    return given >= wanted;
  }

  std::uint64_t give_back_at(std::uint64_t address) {
    return give_back([address](const Piece& p) { return p.address == address; });
  }

  void freed(std::size_t index) override {
    pieces_[index].freed_at = searches_[pieces_[index].pool];
    merge_free();
  }

  CachingOptions options_;
  std::uint64_t searches_[2] = {0, 0};
  Growing growing_[2];
};

CachingOptions random_options(std::mt19937& random) {
  CachingOptions options;
  if (random() % 2 == 0) options.max_split_bytes = (21 + random() % 40) * kMiB;
  if (random() % 2 == 0) {
    options.garbage_collection_threshold = static_cast<double>(1 + random() % 19) / 20;
  }
  options.expandable_segments = random() % 4 == 0;
  if (random() % 3 == 0) options.roundup_power2_divisions = std::uint64_t{1} << random() % 5;
  return options;
}

// Sizes of both pools and of every kind of segment.
std::size_t random_bytes(std::mt19937& random) {
  switch (random() % 6) {
    case 0:
      return random() % 5000;
    case 1:
      return random() % kMiB;
    case 2:
    case 3:
      return kMiB + random() % (9 * kMiB);
    case 4:
      return 10 * kMiB + random() % (20 * kMiB);
    default:
      return 20 * kMiB + random() % (50 * kMiB);
  }
}

TEST(CachingAllocatorModel, AgreesOnRandomTracesWithRandomOptions) {
  Coverage plain, with_options;
  compare_random_traces([&](std::mt19937& random) {
    const bool defaults = random() % 4 == 0;
    const CachingOptions options = defaults ? CachingOptions{} : random_options(random);
    const std::size_t capacity =
        random() % 4 == 0 ? 8192 * kMiB : 20 * kMiB + random() % (400 * kMiB);
    SimulatedDevice device(capacity);
    CachingAllocator allocator(device, options);
    NaiveCaching model(capacity, options);
    compare_with_model(allocator, model, {.events = 40 + random() % 120, .bytes = random_bytes},
                       random, defaults ? plain : with_options);
  });
  for (const Coverage& coverage : {plain, with_options}) {
    EXPECT_GT(coverage.flushes, 1000u);
    EXPECT_GT(coverage.device_full, 1000u);
    EXPECT_GT(coverage.fragmented, 1000u);
  }
}

}  // namespace
}  // namespace skyline
