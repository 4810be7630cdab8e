#include "memory/allocators/caching_allocator.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyline {
namespace {

constexpr std::size_t kMostAddressBytes = std::size_t{1} << 44;

constexpr std::string_view kPoolNames[] = {"small", "large"};

void check(const CachingOptions& options) {
  if (options.max_split_bytes && !valid_max_split(*options.max_split_bytes)) {
    throw std::invalid_argument(
        fmt::format("[caching] max_split_size, got {}, expected a multiple of {}, at least {}",
                    *options.max_split_bytes, CachingOptions::kMaxSplitUnitBytes,
                    CachingOptions::kLeastMaxSplitBytes));
  }
  const double threshold = options.garbage_collection_threshold;
  if (!(threshold >= 0 && threshold <= 1)) {
    throw std::invalid_argument(fmt::format(
        "[caching] garbage_collection_threshold, got {}, expected from 0 to 1", threshold));
  }
  for (const std::uint64_t divisions : options.roundup_power2_divisions.by_size) {
    if (std::has_single_bit(divisions)) continue;
    throw std::invalid_argument(fmt::format(
        "[caching] roundup_power2_divisions, got {}, expected a power of two", divisions));
  }
}

std::size_t segment_bytes(std::size_t bytes) noexcept {
  using A = CachingAllocator;
  if (bytes <= A::kSmallRequestBytes) return A::kSmallSegmentBytes;
  if (bytes < A::kOwnSegmentBytes) return A::kLargeSegmentBytes;
  return align_up(bytes, A::kSegmentUnitBytes);
}

[[noreturn]] void fail_divisions(std::string_view text) {
  throw std::invalid_argument(
      fmt::format("{} is out of range: it must be a power of two from 1 to 1048576, or a list of "
                  "them by powers of two in MiB, such as [256:1,512:2,>:8]",
                  text));
}

// A power of two up to 2^20.
std::uint64_t power_of_two(std::string_view digits, std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  const bool known = error == std::errc() && stopped == end && value <= std::uint64_t{1} << 20;
  if (!known || !std::has_single_bit(value)) fail_divisions(text);
  return value;
}

}  // namespace

// As PyTorch reads it: the first entry also counts for smaller sizes, ">" for all larger ones, and
// a size between two entries that has none is not rounded.
RoundupDivisions RoundupDivisions::read(std::string_view text) {
  if (!text.starts_with('[')) return power_of_two(text, text);
  if (!text.ends_with(']')) fail_divisions(text);
  RoundupDivisions divisions;
  std::size_t next = 0;  // the interval after the last entry's
  for (std::string_view rest = text.substr(1); !rest.empty();) {
    const std::size_t end = rest.find_first_of(",]");
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) fail_divisions(text);
    const std::string_view size = entry.substr(0, colon), steps = entry.substr(colon + 1);
    const std::uint64_t value = steps == "0" ? 1 : power_of_two(steps, text);
    const auto from = divisions.by_size.begin();
    if (size == ">") {
      std::fill(from + static_cast<std::ptrdiff_t>(next), divisions.by_size.end(), value);
      continue;
    }
    const auto interval = std::min<std::size_t>(
        static_cast<std::size_t>(std::countr_zero(power_of_two(size, text))), 15);
    if (next == 0) std::fill_n(from, interval, value);
    divisions.by_size[interval] = value;
    next = interval + 1;
  }
  return divisions;
}

std::string RoundupDivisions::text() const {
  std::size_t last = by_size.size() - 1, first = 0;
  while (last > 0 && by_size[last - 1] == by_size.back()) --last;
  if (last == 0) return std::to_string(by_size.back());
  while (by_size[first + 1] == by_size[first]) ++first;
  std::string list = "[";
  for (; first < last; ++first) list += fmt::format("{}:{},", 1 << first, by_size[first]);
  return fmt::format("{}>:{}]", list, by_size.back());
}

Chunk& ExpandableSegment::grow(std::size_t bytes) {
  if (range_ == nullptr) reserve_range();
  Chunk* last = uncommitted_->previous;
  const bool grows_last = last != nullptr && last->free();
  const std::size_t have_bytes = grows_last ? last->bytes : 0;
  const std::size_t committed_bytes = range_->committed_bytes();
  if (bytes > have_bytes) commit(bytes - have_bytes);
  if (!grows_last) {
    last = &segments_.add(uncommitted_->address, last, uncommitted_);
    last->pool = pool_;
  }
  last->bytes += range_->committed_bytes() - committed_bytes;
  uncommitted_->address = range_->base() + range_->committed_bytes();
  if (grows_last) {
    free_.replace(*last, *last);
  } else {
    free_.insert(*last);
  }
  return *last;
}

std::size_t ExpandableSegment::trim() noexcept {
  Chunk* last = uncommitted_ == nullptr ? nullptr : uncommitted_->previous;
  if (last == nullptr || !last->free()) return 0;
  const std::size_t committed_bytes = range_->committed_bytes();
  const std::size_t kept_bytes =
      align_up(static_cast<std::size_t>(last->address - range_->base()), page_bytes_);
  if (kept_bytes >= committed_bytes) return 0;
  range_->commit(kept_bytes);
  const std::size_t given_bytes = committed_bytes - range_->committed_bytes();
  if (given_bytes == 0) return 0;  // the range returns whole pieces only
  segments_.account().given_to_device(given_bytes);
  uncommitted_->address = range_->base() + range_->committed_bytes();
  last->bytes -= given_bytes;
  if (last->bytes > 0) {
    free_.replace(*last, *last);
  } else {
    free_.remove(*last);
    segments_.drop(*last);
  }
  return given_bytes;
}

void ExpandableSegment::reserve_range() {
  const Device& device = segments_.device();
  const std::size_t most_bytes =
      std::min({device.capacity_bytes(), device.address_bytes(), kMostAddressBytes});
  range_ = segments_.device().reserve(align_up(most_bytes, page_bytes_));
  uncommitted_ = &segments_.add(range_->base(), nullptr, nullptr);
  uncommitted_->state = Chunk::State::kUncommitted;
}

void ExpandableSegment::commit(std::size_t more_bytes) {
  const std::size_t committed_bytes = range_->committed_bytes();
  if (more_bytes > range_->reserved_bytes() - committed_bytes) {
    // The range is as large as the device, so the device is full.
    OutOfMemoryFacts facts;
    facts.where = std::string(segments_.device().name());
    facts.requested_bytes = more_bytes;
    facts.capacity_bytes = segments_.device().capacity_bytes();
    throw OutOfMemory(std::move(facts));
  }
  range_->commit(align_up(committed_bytes + more_bytes, page_bytes_));
  segments_.account().taken_from_device(range_->committed_bytes() - committed_bytes);
}

CachingAllocator::CachingAllocator(Device& device, const CachingOptions& options)
    : segments_(device, "caching"), options_(options) {
  check(options);
  max_split_bytes_ = options.max_split_bytes.value_or(max_split_bytes_);
  if (options.garbage_collection_threshold > 0 && !options.expandable_segments) {
    collect_above_bytes_ = static_cast<std::size_t>(options.garbage_collection_threshold *
                                                    static_cast<double>(device.capacity_bytes()));
  }
  add_pools({});
}

bool CachingAllocator::request_from(RequestSource source) {
  if (!small_of_.contains(source)) add_pools(source);
  small_ = small_of_.at(source);
  return true;
}

void CachingAllocator::add_pools(RequestSource source) {
  const auto small = static_cast<std::uint32_t>(pools_.size());
  for (const bool large : {false, true}) {
    Pool& pool = pools_.emplace_back(Pool{.large = large, .is_private = source.pool != 0});
    if (!options_.expandable_segments) continue;
    pool.expandable.emplace(segments_, pool.free, large ? kLargeSegmentBytes : kSmallSegmentBytes,
                            large ? small + 1 : small);
  }
  small_of_.emplace(source, small);
}

Extent CachingAllocator::acquire(std::size_t bytes, const Tag& tag) {
  if (bytes == 0) return segments_.serve_nothing();
  const Request request{bytes, rounded_bytes(bytes), tag};
  const std::uint32_t number = request.rounded_bytes <= kSmallRequestBytes ? small_ : small_ + 1;
  Pool& pool = pools_[number];
  segments_.reserve_chunks();
  Chunk* chunk = find_free(pool, request.rounded_bytes);
  if (chunk == nullptr) chunk = &take_from_device(number, request);
  if (should_split(pool, *chunk, request.rounded_bytes)) {
    segments_.split_off(*chunk, request.rounded_bytes, pool.free);
  } else {
    pool.free.remove(*chunk);
  }
  return segments_.serve(*chunk, request);
}

void CachingAllocator::release(const Extent& extent) noexcept {
  if (extent.address == nullptr) return segments_.release_nothing();
  Chunk& chunk = Segments::chunk_of(extent);
  segments_.release(chunk, pools_[chunk.pool].free).freed_at = searches_;
}

Statistics CachingAllocator::statistics() const {
  std::size_t largest = 0;
  for (const Pool& pool : pools_) largest = std::max(largest, pool.free.largest_bytes());
  return segments_.statistics(largest);
}

std::vector<Segment> CachingAllocator::segments() const { return segments_.snapshot(kPoolNames); }

// PyTorch's roundup_power2_next_division; sizes up to 512 · divisions round to 512 bytes.
std::size_t CachingAllocator::rounded_bytes(std::size_t bytes) const noexcept {
  const std::uint64_t divisions = options_.roundup_power2_divisions.of(bytes);
  if (divisions == 1) return align_request(bytes);
  const std::size_t step_bytes = std::bit_floor(bytes) >> std::countr_zero(divisions);
  if (step_bytes <= kAlignmentBytes) return align_request(bytes);
  return align_up(bytes, step_bytes);
}

// PyTorch's get_free_block.
Chunk* CachingAllocator::find_free(Pool& pool, std::size_t bytes) noexcept {
  if (pool.large && !pool.is_private) ++searches_;
  auto found = pool.free.at_least(bytes);
  if (found == pool.free.end()) return nullptr;
  if (pool.expandable && pool.expandable->ends_with(*found->chunk)) {
    const auto other = std::next(found);
    if (other != pool.free.end()) found = other;
  }
  Chunk& chunk = *found->chunk;
  if (!oversize(bytes) && oversize(chunk.bytes)) return nullptr;
  if (oversize(bytes) && chunk.bytes - bytes >= kLargeSegmentBytes) return nullptr;
  return &chunk;
}

bool CachingAllocator::should_split(const Pool& pool, const Chunk& chunk,
                                    std::size_t bytes) const noexcept {
  if (oversize(bytes) && !pool.expandable) return false;
  const bool any_rest = pool.expandable || !pool.large;
  return chunk.bytes - bytes >= (any_rest ? kAlignmentBytes : kSmallRequestBytes + 1);
}

Chunk& CachingAllocator::take_from_device(std::uint32_t number, const Request& request) {
  const std::size_t bytes = request.rounded_bytes;
  const std::size_t free_bytes = segments_.account().now().cached_bytes();
  collect_garbage();
  const auto take = [&]() -> Chunk& { return take_segment(number, bytes); };
  const auto take_for_oversize = [&]() -> Chunk& {
    return Segments::take_with(take, [&] { return release_oversize(pools_[number], bytes); });
  };
  try {
    return Segments::take_with(take_for_oversize, [this] {
      if (give_back_free() > 0) segments_.account().flushed();
      return true;
    });
  } catch (const OutOfMemory& refusal) {
    segments_.refuse(refusal.facts(), request, free_bytes);
  }
}

Chunk& CachingAllocator::take_segment(std::uint32_t number, std::size_t bytes) {
  Pool& pool = pools_[number];
  if (pool.expandable) return pool.expandable->grow(bytes);
  Chunk& chunk = segments_.take(segment_bytes(bytes));
  chunk.pool = number;
  pool.free.insert(chunk);
  return chunk;
}

// PyTorch's garbage_collect_cached_blocks.
void CachingAllocator::collect_garbage() noexcept {
  const std::size_t reserved_bytes = segments_.account().now().reserved_bytes;
  if (reserved_bytes <= collect_above_bytes_) return;
  const std::size_t excess_bytes = reserved_bytes - collect_above_bytes_;
  const auto age = [this](const Chunk& chunk) { return searches_ - chunk.freed_at; };
  const auto collected = [](const Pool& pool) { return pool.large && !pool.is_private; };
  std::uint64_t total_age = 0, count = 0;
  for (const Pool& pool : pools_) {
    if (!collected(pool)) continue;
    for (const FreeIndex::Entry& entry : pool.free) {
      if (!entry.chunk->unsplit()) continue;
      total_age += age(*entry.chunk);
      ++count;
    }
  }
  std::size_t given_bytes = 0, just_given_bytes = 1;
  while (given_bytes < excess_bytes && count > 0 && just_given_bytes > 0) {
    const double average = static_cast<double>(total_age) / static_cast<double>(count);
    just_given_bytes = 0;
    for (Pool& pool : pools_) {
      if (!collected(pool)) continue;
      just_given_bytes += segments_.give_back_if(pool.free, [&](const Chunk& chunk) {
        if (static_cast<double>(age(chunk)) < average) return false;
        total_age -= age(chunk);
        --count;
        return true;
      });
    }
    given_bytes += just_given_bytes;
  }
}

// PyTorch's release_available_cached_blocks. True when enough was returned to ask again. Free
// blocks of max_split_bytes and more are unsplit: a split segment belongs to a smaller request,
// rounded up to 2 MiB, which uses more than 1 MiB of it.
bool CachingAllocator::release_oversize(Pool& pool, std::size_t bytes) noexcept {
  if (max_split_bytes_ == std::numeric_limits<std::size_t>::max() || pool.expandable) return false;
  const std::size_t wanted_bytes = std::max(bytes, max_split_bytes_);
  std::size_t given_bytes = 0;
  const auto give = [&](FreeIndex::Place place) {
    Chunk& chunk = *place->chunk;
    given_bytes += chunk.bytes;
    pool.free.remove(chunk);
    segments_.give_back(chunk);
  };
  if (const auto found = pool.free.at_least(wanted_bytes); found != pool.free.end()) {
    give(found);
  } else {
    while (given_bytes < wanted_bytes && oversize(pool.free.largest_bytes())) {
      give(std::prev(pool.free.end()));
    }
  }
  if (given_bytes > 0) segments_.account().flushed();
  return given_bytes >= wanted_bytes;
}

std::size_t CachingAllocator::give_back_free(bool from_private) noexcept {
  std::size_t bytes = 0;
  for (Pool& pool : pools_) {
    if (pool.is_private && !from_private) continue;
    bytes += pool.expandable ? pool.expandable->trim() : segments_.give_back_unsplit(pool.free);
  }
  return bytes;
}

}  // namespace skyline
