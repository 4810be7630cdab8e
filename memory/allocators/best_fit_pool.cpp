#include "memory/allocators/best_fit_pool.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace skyline {

bool BestFitPool::BySizeThenAddress::operator()(const Chunk* a, const Chunk* b) const noexcept {
  return a->bytes != b->bytes ? a->bytes < b->bytes : std::less<>()(a->address, b->address);
}

bool BestFitPool::BySizeThenAddress::operator()(const Chunk* a, std::size_t bytes) const noexcept {
  return a->bytes < bytes;
}

Extent BestFitPool::acquire(std::size_t bytes, const Tag& tag) {
  const std::size_t rounded_bytes = rounded_request_bytes(bytes);
  reserve_spare();
  Chunk* chunk = take_free(rounded_bytes);
  if (chunk == nullptr) {
    chunk = take_from_device(rounded_bytes, bytes, tag);
  } else if (chunk->bytes > rounded_bytes) {
    split(*chunk, rounded_bytes);
  }
  account_.served(bytes, rounded_bytes);
  return {chunk->address, bytes, reinterpret_cast<std::uint64_t>(chunk)};
}

void BestFitPool::release(const Extent& extent) noexcept {
  auto* chunk = reinterpret_cast<Chunk*>(extent.cookie);
  account_.released(extent.bytes, chunk->bytes);
  if (chunk->next != nullptr && chunk->next->free) {
    remove_free(*chunk->next);
    absorb_next(*chunk);
  }
  if (chunk->previous != nullptr && chunk->previous->free) {
    chunk = chunk->previous;
    remove_free(*chunk);
    absorb_next(*chunk);
  }
  insert_free(*chunk);
}

Statistics BestFitPool::statistics() const {
  Statistics statistics = account_.now();
  statistics.largest_free_block_bytes = free_.empty() ? 0 : (*free_.rbegin())->bytes;
  return statistics;
}

void BestFitPool::release_cached() noexcept { give_back_unsplit(); }

BestFitPool::Chunk* BestFitPool::take_free(std::size_t bytes) noexcept {
  const auto found = free_.lower_bound(bytes);
  if (found == free_.end()) return nullptr;
  Chunk* chunk = *found;
  chunk->node = free_.extract(found);
  chunk->free = false;
  return chunk;
}

BestFitPool::Chunk* BestFitPool::take_from_device(std::size_t bytes, std::size_t requested_bytes,
                                                  const Tag& tag) {
  std::byte* address = nullptr;
  try {
    address = device_.allocate(bytes);
  } catch (const OutOfMemory&) {
    address = flush_and_retry(bytes, requested_bytes, tag);
  }
  account_.taken_from_device(bytes);
  Chunk& chunk = take_spare();
  chunk.address = address;
  chunk.bytes = bytes;
  return &chunk;
}

std::byte* BestFitPool::flush_and_retry(std::size_t bytes, std::size_t requested_bytes,
                                        const Tag& tag) {
  const std::size_t free_bytes = account_.now().cached_bytes();
  if (give_back_unsplit()) account_.flushed();
  try {
    return device_.allocate(bytes);
  } catch (const OutOfMemory& refusal) {
    OutOfMemoryFacts facts = refusal.facts();
    if (facts.shortage == Shortage::kDevice && free_bytes >= bytes) {
      facts.shortage = Shortage::kFragmentation;
    }
    account_.refuse(std::move(facts), "best-fit-pool", requested_bytes, tag,
                    statistics().largest_free_block_bytes);
  }
}

void BestFitPool::split(Chunk& chunk, std::size_t bytes) noexcept {
  Chunk& remainder = take_spare();
  remainder.address = chunk.address + bytes;
  remainder.bytes = chunk.bytes - bytes;
  remainder.previous = &chunk;
  remainder.next = chunk.next;
  if (chunk.next != nullptr) chunk.next->previous = &remainder;
  chunk.next = &remainder;
  chunk.bytes = bytes;
  insert_free(remainder);
}

void BestFitPool::absorb_next(Chunk& chunk) noexcept {
  Chunk& absorbed = *chunk.next;
  chunk.bytes += absorbed.bytes;
  chunk.next = absorbed.next;
  if (chunk.next != nullptr) chunk.next->previous = &chunk;
  keep_spare(absorbed);
}

void BestFitPool::insert_free(Chunk& chunk) noexcept {
  chunk.free = true;
  free_.insert(std::move(chunk.node));
}

void BestFitPool::remove_free(Chunk& chunk) noexcept {
  chunk.node = free_.extract(free_.find(&chunk));
  chunk.free = false;
}

bool BestFitPool::give_back_unsplit() noexcept {
  bool gave_back = false;
  for (auto next = free_.begin(); next != free_.end();) {
    Chunk& chunk = **next;
    const auto current = next++;
    if (!chunk.unsplit()) continue;
    chunk.node = free_.extract(current);
    device_.deallocate(chunk.address, chunk.bytes);
    account_.given_to_device(chunk.bytes);
    keep_spare(chunk);
    gave_back = true;
  }
  return gave_back;
}

void BestFitPool::reserve_spare() {
  if (!spare_.empty()) return;
  if (spare_.capacity() <= chunks_.size()) spare_.reserve(2 * chunks_.size() + 16);
  FreeIndex lone;
  Chunk& chunk = chunks_.emplace_back();
  try {
    chunk.node = lone.extract(lone.insert(&chunk).first);
  } catch (...) {
    chunks_.pop_back();
    throw;
  }
  spare_.push_back(&chunk);
}

BestFitPool::Chunk& BestFitPool::take_spare() noexcept {
  Chunk& chunk = *spare_.back();
  spare_.pop_back();
  return chunk;
}

void BestFitPool::keep_spare(Chunk& chunk) noexcept {
  chunk.previous = chunk.next = nullptr;
  chunk.free = false;
  spare_.push_back(&chunk);
}

}  // namespace skyline
