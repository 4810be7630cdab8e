#include "tests/memory/allocators/naive_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "memory/alignment.h"

namespace skyline {
namespace {

constexpr std::uint64_t kBoundary = std::uint64_t{2} << 20;

std::uint64_t up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string text(const Statistics& s) {
  return fmt::format(
      "requested {} ≤ {}, rounded {} ≤ {}, allocated {} ≤ {}, reserved {} ≤ {}, requests {}, "
      "releases {}, device "
      "{} and {}, flushes {}, out of memory {}, largest free {}",
      s.requested_bytes, s.peak_requested_bytes, s.rounded_bytes, s.peak_rounded_bytes,
      s.allocated_bytes, s.peak_allocated_bytes, s.reserved_bytes, s.peak_reserved_bytes,
      s.requests, s.releases, s.device_allocations, s.device_frees, s.flushes, s.out_of_memory,
      s.largest_free_block_bytes);
}

std::uint64_t number(const Block& block) {
  return reinterpret_cast<std::uint64_t>(block.address());
}

// Drives an allocator and its model through the same events.
class Comparison {
 public:
  Comparison(Allocator& allocator, NaiveModel& model, const RandomTrace& trace,
             std::mt19937& random, Coverage& coverage)
      : allocator_(allocator), model_(model), trace_(trace), random_(random), coverage_(coverage) {}

  void run() {
    for (event_ = 0; event_ < trace_.events; ++event_) {
      step();
      if (testing::Test::HasFatalFailure()) return;
      const Statistics got = allocator_.statistics(), expected = model_.statistics();
      ASSERT_TRUE(got == expected)
          << "event " << event_ << "\ngot      " << text(got) << "\nexpected " << text(expected);
    }
    ASSERT_TRUE(allocator_.segments() == model_.segments());
    while (interruptions_-- > 0) allocator_.resume();
    coverage_.flushes += model_.statistics().flushes;
    coverage_.device_frees += model_.statistics().device_frees;
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  void step() {
    if (chance(4)) {
      other_event();
    } else if (!live_.empty() && chance(trace_.percent_of_frees)) {
      free_one();
    } else {
      request();
    }
  }

  void other_event() {
    switch (random_() % 6) {
      case 0:
        allocator_.release_cached();
        model_.release_cached();
        break;
      case 1:
        allocator_.end_step();
        model_.end_step();
        break;
      case 2:
        allocator_.interrupt();
        model_.interrupt();
        ++interruptions_;
        break;
      case 3:
        if (interruptions_ == 0) break;
        allocator_.resume();
        model_.resume();
        --interruptions_;
        break;
      case 4: {
        const RequestSource source{static_cast<std::uint32_t>(random_() % 3),
                                   static_cast<std::uint32_t>(random_() % 2)};
        model_.request_from(allocator_.request_from(source) ? source : RequestSource{});
        break;
      }
      default:
        allocator_.begin_step(0);
        model_.begin_step();
    }
  }

  void free_one() {
    std::swap(live_[random_() % live_.size()], live_.back());
    model_.free(number(live_.back()));
    live_.pop_back();
  }

  void request() {
    const std::size_t bytes = trace_.bytes(random_);
    const auto expected = model_.request(bytes);
    try {
      live_.push_back(allocator_.allocate(bytes));
      ASSERT_TRUE(expected) << "event " << event_ << ": the model refuses " << bytes;
      ASSERT_EQ(number(live_.back()), *expected) << "event " << event_ << ": " << bytes;
      ++coverage_.served;
    } catch (const OutOfMemory& refusal) {
      ASSERT_FALSE(expected) << "event " << event_ << ": the model serves " << bytes << "; "
                             << refusal.what();
      refused(refusal.facts());
    }
  }

  void refused(const OutOfMemoryFacts& facts) {
    const Statistics expected = model_.statistics();
    ASSERT_EQ(facts.shortage, model_.shortage()) << "event " << event_;
    ASSERT_EQ(facts.largest_free_block_bytes, expected.largest_free_block_bytes);
    ASSERT_EQ(facts.allocated_bytes, expected.allocated_bytes);
    ASSERT_EQ(facts.reserved_bytes, expected.reserved_bytes);
    if (facts.shortage == Shortage::kFragmentation) ++coverage_.fragmented;
    if (facts.shortage == Shortage::kDevice) ++coverage_.device_full;
    if (facts.shortage == Shortage::kSegment) ++coverage_.less_than_a_segment;
    if (facts.shortage == Shortage::kLimit) ++coverage_.limited;
  }

  Allocator& allocator_;
  NaiveModel& model_;
  const RandomTrace& trace_;
  std::mt19937& random_;
  Coverage& coverage_;
  std::vector<Block> live_;
  std::size_t event_ = 0;
  int interruptions_ = 0;
};

}  // namespace

std::uint64_t NaiveDevice::take(std::uint64_t bytes) {
  reserved += bytes;
  ++allocations;
  return take_addresses(bytes);
}

void NaiveDevice::give_back(std::uint64_t bytes) {
  reserved -= bytes;
  ++frees;
}

std::uint64_t NaiveDevice::take_addresses(std::uint64_t bytes) {
  const std::uint64_t address = next;
  next = up(next + bytes, kBoundary);
  return address;
}

std::optional<std::uint64_t> NaiveModel::request(std::uint64_t bytes) {
  if (bytes == 0 && null_for_zero_) {
    ++counts_.requests;
    ++zeros_;
    counts_.peak_rounded_bytes = std::max(counts_.peak_rounded_bytes, statistics().rounded_bytes);
    return 0;
  }
  const auto index = serve(bytes);
  std::optional<std::uint64_t> address;
  if (index) {
    address = pieces_[*index].address;
    pieces_[*index].requested = bytes;
    ++counts_.requests;
  } else {
    ++counts_.out_of_memory;
  }
  const Statistics now = statistics();
  counts_.peak_requested_bytes = std::max(counts_.peak_requested_bytes, now.requested_bytes);
  counts_.peak_rounded_bytes = std::max(counts_.peak_rounded_bytes, now.rounded_bytes);
  counts_.peak_allocated_bytes = std::max(counts_.peak_allocated_bytes, now.allocated_bytes);
  counts_.peak_reserved_bytes = std::max(counts_.peak_reserved_bytes, now.reserved_bytes);
  return address;
}

void NaiveModel::free(std::uint64_t address) {
  ++counts_.releases;
  if (address == 0) --zeros_;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].address != address || pieces_[i].free) continue;
    pieces_[i].free = true;
    pieces_[i].requested = 0;
    return freed(i);
  }
}

Statistics NaiveModel::statistics() const {
  Statistics statistics = counts_;
  statistics.rounded_bytes = zeros_ * kAlignmentBytes;
  for (const Piece& piece : pieces_) {
    statistics.reserved_bytes += piece.bytes;
    statistics.requested_bytes += piece.requested;
    if (!piece.free) {
      statistics.rounded_bytes += up(std::max<std::uint64_t>(piece.requested, 1), kAlignmentBytes);
      statistics.allocated_bytes += piece.bytes;
      continue;
    }
    statistics.largest_free_block_bytes =
        std::max<std::size_t>(statistics.largest_free_block_bytes, piece.bytes);
  }
  statistics.device_allocations = device_.allocations;
  statistics.device_frees = device_.frees;
  return statistics;
}

std::vector<Segment> NaiveModel::segments() const {
  std::vector<Segment> segments;
  for (const Piece& piece : pieces_) {
    const auto* segment = reinterpret_cast<const std::byte*>(piece.segment);
    if (segments.empty() || segments.back().address != segment) {
      segments.push_back(
          {.address = segment, .bytes = 0, .pool = pool_name(piece.pool), .blocks = {}});
    }
    segments.back().bytes += piece.bytes;
    segments.back().blocks.push_back({.address = reinterpret_cast<std::byte*>(piece.address),
                                      .bytes = piece.bytes,
                                      .requested_bytes = piece.requested,
                                      .used = !piece.free});
  }
  return segments;
}

std::uint64_t NaiveModel::sum(const Choice& choice) const {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += choice(piece) ? piece.bytes : 0;
  return bytes;
}

std::uint64_t NaiveModel::free_bytes() const {
  return sum([](const Piece& piece) { return piece.free; });
}

bool NaiveModel::whole(const Piece& piece) const {
  return std::ranges::count(pieces_, piece.segment, &Piece::segment) == 1;
}

std::optional<std::size_t> NaiveModel::best_fit(std::uint64_t bytes, const Choice& choice) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (!piece.free || piece.bytes < bytes || !choice(piece)) continue;
    if (!best || piece.bytes < pieces_[*best].bytes) best = i;
  }
  return best;
}

std::size_t NaiveModel::add(const Piece& piece) {
  std::size_t index = 0;
  while (index < pieces_.size() && pieces_[index].address < piece.address) ++index;
  pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(index), piece);
  return index;
}

std::optional<std::size_t> NaiveModel::take_segment(std::uint64_t bytes, int pool) {
  if (!device_.fits(bytes)) return {};
  const std::uint64_t address = device_.take(bytes);
  return add({.address = address, .bytes = bytes, .segment = address, .pool = pool});
}

void NaiveModel::split(std::size_t index, std::uint64_t bytes) {
  Piece rest = pieces_[index];
  rest.address += bytes;
  rest.bytes -= bytes;
  rest.free = true;
  pieces_[index].bytes = bytes;
  if (rest.bytes > 0) add(rest);
}

void NaiveModel::merge_free() {
  for (std::size_t i = 0; i + 1 < pieces_.size();) {
    Piece& a = pieces_[i];
    const Piece& b = pieces_[i + 1];
    if (a.free && b.free && a.segment == b.segment) {
      a.bytes += b.bytes;
      a.freed_at = std::max(a.freed_at, b.freed_at);
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

std::uint64_t NaiveModel::give_back(const Choice& choice) {
  std::vector<Piece> kept;
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces_) {
    if (piece.free && whole(piece) && choice(piece)) {
      device_.give_back(piece.bytes);
      bytes += piece.bytes;
    } else {
      kept.push_back(piece);
    }
  }
  pieces_ = kept;
  return bytes;
}

void NaiveModel::blame(std::uint64_t bytes, std::uint64_t asked, bool enough_before) {
  const std::uint64_t now = free_bytes() + device_.capacity - device_.reserved;
  shortage_ = Shortage::kDevice;
  if (now >= bytes) shortage_ = now >= asked ? Shortage::kFragmentation : Shortage::kSegment;
  if (enough_before) shortage_ = Shortage::kFragmentation;
}

void NaiveModel::flush() {
  if (give_back([](const Piece&) { return true; }) > 0) ++counts_.flushes;
}

void compare_with_model(Allocator& allocator, NaiveModel& model, const RandomTrace& trace,
                        std::mt19937& random, Coverage& coverage) {
  Comparison(allocator, model, trace, random, coverage).run();
}

void compare_random_traces(const std::function<void(std::mt19937&)>& compare) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + random_traces(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    compare(random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace skyline
