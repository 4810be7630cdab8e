#pragma once

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "memory/allocators/account.h"
#include "memory/allocators/free_index.h"
#include "memory/device/device.h"

namespace skyline {

// A request inside an allocator.
struct Request {
  std::size_t bytes = 0;          // as requested
  std::size_t rounded_bytes = 0;  // as the allocator rounds it
  const Tag& tag;
};

// The segments that an allocator holds, cut into chunks, and the accounting of both. The allocator
// decides which free chunk to use and when to ask the device.
//
// Chunks have stable addresses and are reused: no heap allocation unless there are more than ever
// before.
class Segments {
 public:
  // `allocator` names the owner in errors; it and the device outlive this.
  Segments(Device& device, std::string_view allocator) noexcept
      : device_(device), allocator_(allocator) {}
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  Device& device() const noexcept { return device_; }
  Account& account() noexcept { return account_; }
  const Account& account() const noexcept { return account_; }
  Statistics statistics(std::size_t largest_free_block_bytes) const noexcept {
    Statistics now = account_.now();
    now.largest_free_block_bytes = largest_free_block_bytes;
    return now;
  }

  // Makes room for the chunks of one request. Call it before take, add, split and split_off, which
  // then need no heap. Throws std::bad_alloc.
  void reserve_chunks() {
    if (spare_.size() < kChunksARequest) make_spares();
  }

  // Takes a segment from the device, in no index. Throws the device's OutOfMemory.
  Chunk& take(std::size_t bytes);
  // Returns the segment of an unsplit chunk, which is in no index, to the device.
  void give_back(Chunk& chunk) noexcept;
  // Returns the segments of the unsplit chunks of `free` that `chosen` picks; the result is bytes.
  template <typename Chosen>
  std::size_t give_back_if(FreeIndex& free, Chosen chosen) noexcept;
  std::size_t give_back_unsplit(FreeIndex& free) noexcept {
    return give_back_if(free, [](const Chunk&) { return true; });
  }

  // Calls `take`, which asks the device. If it refuses, `make_room` returns cached memory and says
  // whether to ask once more. Throws the last refusal.
  template <typename Take, typename MakeRoom>
  static Chunk& take_with(Take take, MakeRoom make_room);

  // Counts a refusal and throws it as the allocator's. A full device becomes kFragmentation when
  // what it has left and what the allocator holds free would have sufficed in one piece, and
  // kSegment when that is enough for the request but less than was asked of the device.
  // `free_before` is what the allocator held free before it returned memory to the device: not
  // every device knows what it has left.
  [[noreturn]] void refuse(OutOfMemoryFacts device_facts, const Request& request,
                           std::size_t free_before = 0);

  // Cuts a chunk after `bytes`. Returns the remainder, of the same pool and in no index.
  Chunk& split(Chunk& chunk, std::size_t bytes) noexcept;
  // The same for an indexed chunk; the remainder takes its place in the index.
  void split_off(Chunk& chunk, std::size_t bytes, FreeIndex& free) noexcept {
    free.replace(chunk, split(chunk, bytes));
  }
  // Hands out the chunk, which is in no index.
  Extent serve(Chunk& chunk, const Request& request) noexcept;
  // A request for 0 bytes that gets the null address and no chunk, and its end.
  Extent serve_nothing() noexcept {
    account_.served(0, 0);
    return {};
  }
  void release_nothing() noexcept { account_.released(0, 0); }
  // Merges the released chunk with free neighbours of its segment and indexes the result.
  Chunk& release(Chunk& chunk, FreeIndex& free) noexcept;
  // Accounts for a release, and nothing else.
  void close(Chunk& chunk) noexcept { account_.released(chunk.requested_bytes, chunk.bytes); }
  static Chunk& chunk_of(const Extent& extent) noexcept {
    return *reinterpret_cast<Chunk*>(extent.cookie);
  }

  // Adds an empty used chunk, in no index, between two neighbours, which may be null.
  Chunk& add(std::byte* address, Chunk* previous, Chunk* next) noexcept;
  // Removes an empty chunk, in no index, from its segment.
  void drop(Chunk& chunk) noexcept;

  // See Allocator::segments(). Chunk::pool, modulo their number, indexes the names.
  std::vector<Segment> snapshot(std::span<const std::string_view> pool_names) const;

 private:
  static constexpr std::size_t kChunksARequest = 3;

  void make_spares();
  Chunk& take_spare() noexcept;
  void absorb_next(Chunk& chunk) noexcept;

  Device& device_;
  std::string_view allocator_;
  Account account_;
  std::deque<Chunk> chunks_;   // used, free and spare
  std::vector<Chunk*> spare_;  // the spare ones; capacity for all
};

template <typename Chosen>
std::size_t Segments::give_back_if(FreeIndex& free, Chosen chosen) noexcept {
  std::size_t bytes = 0;
  for (auto next = free.begin(); next != free.end();) {
    Chunk& chunk = *(next++)->chunk;
    if (!chunk.unsplit() || !chosen(chunk)) continue;
    bytes += chunk.bytes;
    free.remove(chunk);
    give_back(chunk);
  }
  return bytes;
}

template <typename Take, typename MakeRoom>
Chunk& Segments::take_with(Take take, MakeRoom make_room) {
  try {
    return take();
  } catch (const OutOfMemory&) {
    if (!make_room()) throw;
  }
  return take();
}

inline Chunk& Segments::take_spare() noexcept {
  Chunk& chunk = *spare_.back();
  spare_.pop_back();
  return chunk;
}

inline Chunk& Segments::split(Chunk& chunk, std::size_t bytes) noexcept {
  Chunk& remainder = add(chunk.address + bytes, &chunk, chunk.next);
  remainder.bytes = chunk.bytes - bytes;
  remainder.pool = chunk.pool;
  chunk.bytes = bytes;
  return remainder;
}

inline Extent Segments::serve(Chunk& chunk, const Request& request) noexcept {
  chunk.state = Chunk::State::kUsed;
  chunk.requested_bytes = request.bytes;
  account_.served(request.bytes, chunk.bytes);
  return {chunk.address, request.bytes, reinterpret_cast<std::uint64_t>(&chunk)};
}

inline Chunk& Segments::release(Chunk& chunk, FreeIndex& free) noexcept {
  close(chunk);
  Chunk* previous = chunk.previous != nullptr && chunk.previous->free() ? chunk.previous : nullptr;
  Chunk* next = chunk.next != nullptr && chunk.next->free() ? chunk.next : nullptr;
  if (previous == nullptr && next == nullptr) {
    free.insert(chunk);
    return chunk;
  }
  if (previous == nullptr) {
    chunk.bytes += next->bytes;
    free.replace(*next, chunk);
    drop(*next);
    return chunk;
  }
  if (next != nullptr) {
    free.remove(*next);
    absorb_next(chunk);
  }
  absorb_next(*previous);
  free.replace(*previous, *previous);
  return *previous;
}

inline void Segments::absorb_next(Chunk& chunk) noexcept {
  chunk.bytes += chunk.next->bytes;
  drop(*chunk.next);
}

inline Chunk& Segments::add(std::byte* address, Chunk* previous, Chunk* next) noexcept {
  Chunk& added = take_spare();
  added.address = address;
  added.bytes = 0;
  added.state = Chunk::State::kUsed;
  added.pool = 0;
  added.previous = previous;
  added.next = next;
  if (previous != nullptr) previous->next = &added;
  if (next != nullptr) next->previous = &added;
  return added;
}

inline void Segments::drop(Chunk& chunk) noexcept {
  if (chunk.previous != nullptr) chunk.previous->next = chunk.next;
  if (chunk.next != nullptr) chunk.next->previous = chunk.previous;
  chunk.state = Chunk::State::kSpare;
  spare_.push_back(&chunk);
}

}  // namespace skyline
