#include "memory/allocators/exact_pool.h"

#include <algorithm>

namespace skyline {

Extent ExactPool::acquire(std::size_t bytes, const Tag& tag) {
  const Request request{bytes, round_up(std::max(bytes, std::size_t{1}), kUnitBytes), tag};
  const auto list = lists_.find(request.rounded_bytes);
  if (list == lists_.end() || list->second.free.empty()) {
    return segments_.serve(take_from_device(request), request);
  }
  Chunk& chunk = *list->second.free.back();
  list->second.free.pop_back();
  return segments_.serve(chunk, request);
}

void ExactPool::release(const Extent& extent) noexcept {
  Chunk& chunk = Segments::chunk_of(extent);
  segments_.close(chunk);
  chunk.state = Chunk::State::kFree;
  lists_.find(chunk.bytes)->second.free.push_back(&chunk);
}

Statistics ExactPool::statistics() const {
  Statistics statistics = segments_.account().now();
  for (const auto& [bytes, list] : lists_) {
    if (list.free.empty()) continue;
    statistics.largest_free_block_bytes = std::max(statistics.largest_free_block_bytes, bytes);
  }
  return statistics;
}

Chunk& ExactPool::take_from_device(const Request& request) {
  segments_.reserve_chunks();
  SizeList& list = lists_[request.rounded_bytes];
  if (list.free.capacity() <= list.blocks) list.free.reserve(2 * list.blocks + 1);
  try {
    Chunk& chunk =
        segments_.take_with([&]() -> Chunk& { return segments_.take(request.rounded_bytes); },
                            [this] {
                              if (give_back_free()) segments_.account().flushed();
                              return true;
                            });
    ++list.blocks;
    return chunk;
  } catch (const OutOfMemory& refusal) {
    if (list.blocks == 0) lists_.erase(request.rounded_bytes);
    segments_.refuse(refusal.facts(), request, 0);
  }
}

bool ExactPool::give_back_free() noexcept {
  bool gave_back = false;
  for (auto& [bytes, list] : lists_) {
    for (Chunk* chunk : list.free) segments_.give_back(*chunk);
    gave_back = gave_back || !list.free.empty();
    list.blocks -= list.free.size();
    list.free.clear();
  }
  return gave_back;
}

}  // namespace skyline
