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
      rounded_to_pages(static_cast<std::size_t>(last->address - range_->base()));
  if (kept_bytes >= committed_bytes) return 0;
  range_->commit(kept_bytes);
  const std::size_t given_bytes = committed_bytes - range_->committed_bytes();
  if (given_bytes == 0) return 0;  // the range gives back whole pieces only
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
  const std::size_t most_bytes = std::min(device.capacity_bytes(), kMostAddressBytes);
  range_ = segments_.device().reserve(rounded_to_pages(most_bytes));
  uncommitted_ = &segments_.add(range_->base(), nullptr, nullptr);
  uncommitted_->state = Chunk::State::kUncommitted;
}

std::size_t ExpandableSegment::rounded_to_pages(std::size_t bytes) const noexcept {
  const std::size_t over_bytes = bytes % page_bytes_;
  return over_bytes == 0 ? bytes : bytes + (page_bytes_ - over_bytes);
}

void ExpandableSegment::commit(std::size_t more_bytes) {
  const std::size_t committed_bytes = range_->committed_bytes();
  if (more_bytes > range_->reserved_bytes() - committed_bytes) {
    // The range is as large as the device: it is the device that is full.
    OutOfMemoryFacts facts;
    facts.where = std::string(segments_.device().name());
    facts.requested_bytes = more_bytes;
    facts.capacity_bytes = segments_.device().capacity_bytes();
    throw OutOfMemory(std::move(facts));
  }
  range_->commit(rounded_to_pages(committed_bytes + more_bytes));
  segments_.account().taken_from_device(range_->committed_bytes() - committed_bytes);
}

}  // namespace skyline
