#include "tests/benchmarks/memory/malloc_allocator.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "memory/alignment.h"

namespace skyline {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

std::size_t rounded_up(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Extent MallocAllocator::acquire(std::size_t bytes, const Tag&) {
  const std::size_t taken = rounded_up(bytes);
  auto* address = static_cast<std::byte*>(std::aligned_alloc(kAlignment, taken));
  if (address == nullptr) throw std::bad_alloc();
  Statistics& s = statistics_;
  s.requested_bytes += bytes;
  s.rounded_bytes += align_request(bytes);
  s.reserved_bytes = s.allocated_bytes += taken;
  s.peak_requested_bytes = std::max(s.peak_requested_bytes, s.requested_bytes);
  s.peak_rounded_bytes = std::max(s.peak_rounded_bytes, s.rounded_bytes);
  s.peak_reserved_bytes = s.peak_allocated_bytes =
      std::max(s.peak_allocated_bytes, s.allocated_bytes);
  ++s.requests;
  return {address, bytes};
}

void MallocAllocator::release(const Extent& extent) noexcept {
  std::free(extent.address);
  Statistics& s = statistics_;
  s.requested_bytes -= extent.bytes;
  s.rounded_bytes -= align_request(extent.bytes);
  s.reserved_bytes = s.allocated_bytes -= rounded_up(extent.bytes);
  ++s.releases;
}

}  // namespace skyline
