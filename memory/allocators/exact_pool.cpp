#include "memory/allocators/exact_pool.h"

#include <algorithm>

namespace skyline {

Extent ExactPool::acquire(std::size_t bytes, const Tag& tag) {
  const Request request{bytes, align_request(bytes, kUnitBytes), tag};
  const std::uint32_t number = list_for(request.rounded_bytes);
  SizeList& list = lists_[number];
  if (list.free.empty()) return segments_.serve(take_from_device(number, request), request);
  Chunk& chunk = *list.free.back();
  list.free.pop_back();
  return segments_.serve(chunk, request);
}

void ExactPool::release(const Extent& extent) noexcept {
  Chunk& chunk = Segments::chunk_of(extent);
  segments_.close(chunk);
  chunk.state = Chunk::State::kFree;
  lists_[chunk.pool].free.push_back(&chunk);
}

Statistics ExactPool::statistics() const {
  std::size_t largest = 0;
  for (const SizeList& list : lists_) {
    if (!list.free.empty()) largest = std::max(largest, list.bytes);
  }
  return segments_.statistics(largest);
}

std::uint32_t ExactPool::list_for(std::size_t bytes) {
  if (const auto found = numbers_.find(bytes); found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(lists_.size());
  lists_.push_back({.free = {}, .blocks = 0, .bytes = bytes});
  try {
    numbers_.emplace(bytes, number);
  } catch (...) {
    lists_.pop_back();
    throw;
  }
  return number;
}

Chunk& ExactPool::take_from_device(std::uint32_t number, const Request& request) {
  segments_.reserve_chunks();
  SizeList& list = lists_[number];
  if (list.free.capacity() <= list.blocks) list.free.reserve(2 * list.blocks + 1);
  try {
    Chunk& chunk =
        segments_.take_with([&]() -> Chunk& { return segments_.take(request.rounded_bytes); },
                            [this] {
                              if (give_back_free()) segments_.account().flushed();
                              return true;
                            });
    chunk.pool = number;
    ++list.blocks;
    return chunk;
  } catch (const OutOfMemory& refusal) {
    if (list.blocks == 0 && number + 1 == lists_.size()) {  // only this request needed it
      lists_.pop_back();
      numbers_.erase(request.rounded_bytes);
    }
    segments_.refuse(refusal.facts(), request);
  }
}

bool ExactPool::give_back_free() noexcept {
  bool gave_back = false;
  for (SizeList& list : lists_) {
    for (Chunk* chunk : list.free) segments_.give_back(*chunk);
    gave_back = gave_back || !list.free.empty();
    list.blocks -= list.free.size();
    list.free.clear();
  }
  return gave_back;
}

}  // namespace skyline
