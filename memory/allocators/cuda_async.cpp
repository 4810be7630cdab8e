#include "memory/allocators/cuda_async.h"

#include <optional>
#include <utility>

namespace skyline {

CudaAsync::CudaAsync(Device& device) : pool_(device.stream_pool()) {}

Extent CudaAsync::acquire(std::size_t bytes, const Tag& tag) {
  const std::size_t rounded_bytes = align_request(bytes);
  std::byte* address = nullptr;
  try {
    address = pool_->allocate(rounded_bytes);
  } catch (const OutOfMemory& refusal) {
    observe_reserved();
    OutOfMemoryFacts facts = refusal.facts();
    if (facts.shortage == Shortage::kDevice && account_.now().cached_bytes() >= rounded_bytes) {
      facts.shortage = Shortage::kFragmentation;
    }
    // The driver does not report the largest free block.
    account_.refuse(std::move(facts), "cuda-async", bytes, tag, std::nullopt);
  }
  observe_reserved();
  account_.served(bytes, rounded_bytes);
  return {address, bytes, 0};
}

void CudaAsync::release(const Extent& extent) noexcept {
  pool_->deallocate(extent.address);
  account_.released(extent.bytes, align_request(extent.bytes));
  observe_reserved();
}

void CudaAsync::release_cached() noexcept {
  pool_->release();
  account_.flushed();
  observe_reserved();
}

void CudaAsync::observe_reserved() noexcept {
  const std::size_t before = account_.now().reserved_bytes, now = pool_->reserved_bytes();
  if (now > before) account_.taken_from_device(now - before);
  if (now < before) account_.given_to_device(before - now);
}

}  // namespace skyline
