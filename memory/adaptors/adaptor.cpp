#include "memory/adaptors/adaptor.h"

#include "memory/allocators/account.h"

namespace skyline {

Extent LimitAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  const std::size_t rounded_bytes = align_request(bytes);
  const std::size_t left_bytes = limit_bytes_ - live_bytes_;
  if (rounded_bytes > left_bytes) {
    ++refusals_;
    throw OutOfMemory({.where = "limit",
                       .shortage = Shortage::kLimit,
                       .requested_bytes = bytes,
                       .allocated_bytes = live_bytes_,
                       .capacity_bytes = limit_bytes_,
                       .largest_free_block_bytes = left_bytes,
                       .request = tag_name(tag)});
  }
  const Extent extent = upstream().acquire(bytes, tag);
  live_bytes_ += rounded_bytes;
  return extent;
}

void LimitAdaptor::release(const Extent& extent) noexcept {
  upstream().release(extent);
  live_bytes_ -= align_request(extent.bytes);
}

Statistics LimitAdaptor::statistics() const {
  Statistics statistics = upstream().statistics();
  statistics.out_of_memory += refusals_;
  return statistics;
}

}  // namespace skyline
