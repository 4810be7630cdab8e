#include "memory/allocators/stitched_allocator.h"

#include <fmt/core.h>

#include <stdexcept>

namespace skyline {
namespace {

enum PoolNumber : std::uint32_t { kSmall, kWhole };
constexpr std::string_view kPools[] = {"small", "whole"};

}  // namespace

StitchedAllocator::StitchedAllocator(Device& device, const StitchedOptions& options)
    : segments_(device, "stitched"), page_bytes_(options.page_bytes) {
  if (valid_page(options.page_bytes)) return;
  throw std::invalid_argument(
      fmt::format("[stitched] page size, got {}, expected a multiple of {} up to {}",
                  options.page_bytes, kAlignmentBytes, StitchedOptions::kLargestPageBytes));
}

Extent StitchedAllocator::acquire(std::size_t bytes, const Tag& tag) {
  const Request request{bytes, align_request(bytes), tag};
  segments_.reserve_chunks();
  const bool shares = request.rounded_bytes < page_bytes_ / 2;
  const std::size_t wanted =
      shares ? request.rounded_bytes : align_up(request.rounded_bytes, page_bytes_);
  FreeIndex& free = shares ? small_ : whole_;
  auto found = free.at_least(wanted);
  if (found == free.end() || (!shares && found->bytes != wanted)) {
    Chunk& mapped = map(shares ? page_bytes_ : wanted, request);
    mapped.pool = shares ? kSmall : kWhole;
    free.insert(mapped);
    found = mapped.place;
  }
  Chunk& chunk = *found->chunk;
  if (chunk.bytes > wanted) {
    segments_.split_off(chunk, wanted, free);
  } else {
    free.remove(chunk);
  }
  return segments_.serve(chunk, request);
}

void StitchedAllocator::release(const Extent& extent) noexcept {
  Chunk& chunk = Segments::chunk_of(extent);
  segments_.release(chunk, chunk.pool == kSmall ? small_ : whole_);
}

Statistics StitchedAllocator::statistics() const {
  return segments_.statistics(std::max(small_.largest_bytes(), whole_.largest_bytes()));
}

std::vector<Segment> StitchedAllocator::segments() const { return segments_.snapshot(kPools); }

Chunk& StitchedAllocator::map(std::size_t bytes, const Request& request) {
  const std::size_t free_before = segments_.account().now().cached_bytes();
  keep_below_peak(bytes);
  try {
    return Segments::take_with([&]() -> Chunk& { return segments_.take(bytes); },
                               [this] {
                                 if (give_back_free() == 0) return false;
                                 segments_.account().flushed();
                                 return true;
                               });
  } catch (const OutOfMemory& refusal) {
    segments_.refuse(refusal.facts(), request, free_before);
  }
}

void StitchedAllocator::keep_below_peak(std::size_t more_bytes) noexcept {
  const Statistics& now = segments_.account().now();
  const auto room = [&now] { return now.peak_reserved_bytes - now.reserved_bytes; };
  while (more_bytes > room()) {
    const std::size_t excess = more_bytes - room();
    FreeIndex::Place range = whole_.at_least(excess);
    if (range == whole_.end() && whole_.largest_bytes() > 0) --range;
    if (range != whole_.end()) {
      unmap(whole_, range);
      continue;
    }
    const FreeIndex::Place page = small_.at_least(page_bytes_);  // without a block
    if (page == small_.end()) return;
    unmap(small_, page);
  }
}

void StitchedAllocator::unmap(FreeIndex& free, FreeIndex::Place place) noexcept {
  Chunk& chunk = *place->chunk;
  free.remove(chunk);
  segments_.give_back(chunk);
}

std::size_t StitchedAllocator::give_back_free() noexcept {
  return segments_.give_back_unsplit(whole_) + segments_.give_back_unsplit(small_);
}

}  // namespace skyline
