// CachingAllocator against an independent naive model of caching_allocator.h, under random
// options.
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
      : NaiveModel(capacity), options_(options) {
    null_for_zero_ = true;
  }
  void release_cached() override { give_back_all(); }
  void request_from(RequestSource source) override {
    from_ = 2 * static_cast<int>(2 * source.stream + source.pool);
  }

 private:
  struct Growing {
    std::uint64_t base = 0;  // 0: not reserved
    std::uint64_t committed = 0;
  };

  // The pools of three streams, with a private pool each: the lowest bit is set for the large one,
  // the next for the private ones.
  static constexpr int kPools = 12;
  static bool large(int pool) { return pool % 2 == 1; }
  static bool is_private(int pool) { return pool / 2 % 2 == 1; }
  const char* pool_name(int pool) const override { return large(pool) ? "large" : "small"; }
  std::uint64_t max_split() const { return options_.max_split_bytes.value_or(kNoOversize); }
  static std::uint64_t page(int pool) { return large(pool) ? 20 * kMiB : 2 * kMiB; }

  std::uint64_t rounded(std::uint64_t bytes) const {
    if (bytes < 512) return 512;
    int interval = 0;
    while (interval < 15 && bytes >= (kMiB << (interval + 1))) ++interval;
    const std::uint64_t divisions = options_.roundup_power2_divisions.by_size[interval];
    if (divisions <= 1 || bytes <= 512 * divisions) return up(bytes, 512);
    std::uint64_t floor = 1;
    while (floor * 2 <= bytes) floor *= 2;
    return up(bytes, floor / divisions);
  }

  std::optional<std::size_t> serve(std::uint64_t asked) override {
    const std::uint64_t bytes = rounded(asked);
    const int pool = from_ + (bytes <= kMiB ? 0 : 1);
    if (large(pool) && !is_private(pool)) ++searches_;
    auto found = find(pool, bytes);
    if (!found) found = from_device(pool, bytes);
    if (!found) return {};
    pieces_[*found].free = false;
    if (!cuts(pool, bytes, pieces_[*found].bytes - bytes)) return found;
    split(*found, bytes);
    pieces_[*found + 1].freed_at = searches_;
    return found;
  }

  bool cuts(int pool, std::uint64_t bytes, std::uint64_t rest) const {
    if (!large(pool) || options_.expandable_segments) return rest >= 512;
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
    const auto taken = take(pool, bytes);
    if (!taken) blame(bytes, asked(pool, bytes), enough);
    return taken;
  }

  std::optional<std::size_t> take(int pool, std::uint64_t bytes) {
    if (options_.expandable_segments) return grow(pool, bytes);
    return take_segment(segment(pool, bytes), pool);
  }

  static std::uint64_t segment(int pool, std::uint64_t bytes) {
    if (!large(pool)) return 2 * kMiB;
    return bytes < 10 * kMiB ? 20 * kMiB : up(bytes, 2 * kMiB);
  }

  // Bytes of the device that the pool needs for the request.
  std::uint64_t asked(int pool, std::uint64_t bytes) {
    return options_.expandable_segments ? growth(pool, bytes) : segment(pool, bytes);
  }
  std::uint64_t growth(int pool, std::uint64_t bytes) {
    const auto last = last_of(pool);
    const std::uint64_t have = last && pieces_[*last].free ? pieces_[*last].bytes : 0;
    const std::uint64_t committed = growing_[pool].committed;
    const std::uint64_t most = up(device_.capacity, page(pool));
    const std::uint64_t more = up(committed - have + bytes, page(pool)) - committed;
    return committed + more > most ? bytes - have : more;
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
    if (!options_.expandable_segments) {
      return give_back([](const Piece& piece) { return !is_private(piece.pool); });
    }
    std::uint64_t given = 0;
    for (int pool = 0; pool < kPools; ++pool) given += is_private(pool) ? 0 : trim(pool);
    return given;
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
    return large(piece.pool) && !is_private(piece.pool) && piece.free && whole(piece);
  }

  // Returns the candidates of at least average age, until the excess is gone.
  void collect_garbage() {
    if (options_.garbage_collection_threshold == 0 || options_.expandable_segments) return;
    const auto threshold = static_cast<std::uint64_t>(options_.garbage_collection_threshold *
                                                      static_cast<double>(device_.capacity));
    while (device_.reserved > threshold) {
      double ages = 0, count = 0;
      const auto age = [this](const Piece& p) {
        return static_cast<double>(searches_ - p.freed_at);
      };
      for (const Piece& piece : pieces_) {
        if (!collectable(piece)) continue;
        ages += age(piece);
        ++count;
      }
      if (count == 0) return;
      give_back([&](const Piece& p) { return collectable(p) && age(p) >= ages / count; });
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
    pieces_[index].freed_at = searches_;
    merge_free();
  }

  CachingOptions options_;
  int from_ = 0;  // the small pool of the current source
  std::uint64_t searches_ = 0;
  Growing growing_[kPools];
};

CachingOptions random_options(std::mt19937& random) {
  CachingOptions options;
  if (random() % 2 == 0) options.max_split_bytes = (21 + random() % 40) * kMiB;
  if (random() % 2 == 0) {
    options.garbage_collection_threshold = static_cast<double>(1 + random() % 19) / 20;
  }
  options.expandable_segments = random() % 4 == 0;
  if (random() % 3 == 0) options.roundup_power2_divisions = std::uint64_t{1} << random() % 5;
  if (random() % 6 == 0) options.roundup_power2_divisions.by_size[random() % 8] = 8;
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
    EXPECT_GT(coverage.flushes, random_traces() / 10);
    EXPECT_GT(coverage.device_full, random_traces() / 10);
    EXPECT_GT(coverage.fragmented, random_traces() / 10);
    EXPECT_GT(coverage.less_than_a_segment, 3 * random_traces() / 100);
  }
}

}  // namespace
}  // namespace skyline
