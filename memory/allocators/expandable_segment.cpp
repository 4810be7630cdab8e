#include "memory/allocators/expandable_segment.h"

#include <algorithm>
#include <limits>
#include <string>

namespace skyline {
namespace {

constexpr std::size_t kMostAddressBytes = std::size_t{1} << 44;

}  // namespace

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

}  // namespace skyline
