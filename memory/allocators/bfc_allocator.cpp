#include "memory/allocators/bfc_allocator.h"

#include <algorithm>
#include <string>

namespace skyline {
namespace {

constexpr std::size_t round_down(std::size_t bytes, std::size_t unit) noexcept {
  return bytes - bytes % unit;
}

}  // namespace

BfcAllocator::BfcAllocator(Device& device, const BfcOptions& options)
    : segments_(device, "bfc"), limit_bytes_(device.capacity_bytes()) {
  if (options.limit_bytes) limit_bytes_ = std::min(limit_bytes_, *options.limit_bytes);
  next_region_bytes_ = options.growth ? std::min(limit_bytes_, kFirstRegionBytes) : limit_bytes_;
}

Extent BfcAllocator::acquire(std::size_t bytes, const Tag& tag) {
  if (bytes == 0) return segments_.serve_nothing();
  const Request request{bytes, align_request(bytes, kUnitBytes), tag};
  segments_.reserve_chunks();
  const auto found = free_.at_least(request.rounded_bytes);
  Chunk& chunk = found != free_.end() ? *found->chunk : take_region(request);
  if (chunk.bytes / 2 >= request.rounded_bytes ||
      chunk.bytes - request.rounded_bytes >= kMostWasteBytes) {
    segments_.split_off(chunk, request.rounded_bytes, free_);
  } else {
    free_.remove(chunk);
  }
  return segments_.serve(chunk, request);
}

void BfcAllocator::release(const Extent& extent) noexcept {
  if (extent.address == nullptr) return segments_.release_nothing();
  segments_.release(Segments::chunk_of(extent), free_);
}

Chunk& BfcAllocator::take_region(const Request& request) {
  const Statistics& now = segments_.account().now();
  const std::size_t remaining_bytes = round_down(limit_bytes_ - now.reserved_bytes, kUnitBytes);
  if (request.rounded_bytes > remaining_bytes) refuse_over_limit(request);
  std::size_t region_bytes = next_region_bytes_;
  while (region_bytes < request.rounded_bytes) region_bytes *= 2;
  const bool doubled = region_bytes > next_region_bytes_;
  try {
    Chunk& region =
        take_stepping_back(std::min(region_bytes, remaining_bytes), request.rounded_bytes);
    free_.insert(region);
    // Above the limit the size does not matter, but it must not overflow.
    next_region_bytes_ = doubled || region_bytes > limit_bytes_ ? region_bytes : 2 * region_bytes;
    return region;
  } catch (const OutOfMemory& refusal) {
    segments_.refuse(refusal.facts(), request);
  }
}

Chunk& BfcAllocator::take_stepping_back(std::size_t bytes, std::size_t least_bytes) {
  const bool may_step_back = !stepped_back_;
  while (true) {
    try {
      return segments_.take(bytes);
    } catch (const OutOfMemory&) {
      stepped_back_ = true;
      const std::size_t fewer_bytes = align_up(bytes - bytes / 10, kUnitBytes);
      if (!may_step_back || fewer_bytes < least_bytes || fewer_bytes == bytes) throw;
      bytes = fewer_bytes;
    }
  }
}

void BfcAllocator::refuse_over_limit(const Request& request) {
  const Device& device = segments_.device();
  OutOfMemoryFacts facts;
  facts.where = std::string(device.name());
  const bool own_limit = limit_bytes_ < device.capacity_bytes();
  facts.shortage = own_limit ? Shortage::kLimit : Shortage::kDevice;
  facts.capacity_bytes = limit_bytes_;
  const Statistics& now = segments_.account().now();
  if (limit_bytes_ - now.allocated_bytes >= request.rounded_bytes) {
    facts.shortage = Shortage::kFragmentation;
  }
  facts.device_free_bytes = limit_bytes_ - now.reserved_bytes;
  segments_.refuse(std::move(facts), request);
}

}  // namespace skyline
