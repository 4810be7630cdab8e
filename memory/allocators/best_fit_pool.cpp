#include "memory/allocators/best_fit_pool.h"

namespace skyline {

Extent BestFitPool::acquire(std::size_t bytes, const Tag& tag) {
  const Request request{bytes, align_request(bytes), tag};
  segments_.reserve_chunks();
  const auto found = free_.at_least(request.rounded_bytes);
  if (found == free_.end()) return segments_.serve(take_from_device(request), request);
  Chunk& chunk = *found->chunk;
  if (chunk.bytes > request.rounded_bytes) {
    segments_.split_off(chunk, request.rounded_bytes, free_);
  } else {
    free_.remove(chunk);
  }
  return segments_.serve(chunk, request);
}

void BestFitPool::release(const Extent& extent) noexcept {
  segments_.release(Segments::chunk_of(extent), free_);
}

Chunk& BestFitPool::take_from_device(const Request& request) {
  const std::size_t free_bytes = segments_.account().now().cached_bytes();
  try {
    return segments_.take_with([&]() -> Chunk& { return segments_.take(request.rounded_bytes); },
                               [&] {
                                 const bool gave = segments_.give_back_unsplit(free_) > 0;
                                 if (gave) segments_.account().flushed();
                                 return true;
                               });
  } catch (const OutOfMemory& refusal) {
    segments_.refuse(refusal.facts(), request, free_bytes);
  }
}

}  // namespace skyline
