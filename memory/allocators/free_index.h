#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace skyline {

struct Chunk;

// The free chunks of a pool, ordered by size, then by address, for best fit. O(log chunks) a
// change, O(1) when the order stays. Chunks own their nodes, so nothing here allocates or throws.
class FreeIndex {
 public:
  // Mutable: the index changes an entry in place when the order allows it.
  struct Entry {
    mutable std::size_t bytes = 0;
    mutable std::byte* address = nullptr;
    mutable Chunk* chunk = nullptr;
  };
  struct BySizeThenAddress {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const noexcept {
      return a.bytes != b.bytes ? a.bytes < b.bytes : std::less<>()(a.address, b.address);
    }
    bool operator()(const Entry& a, std::size_t bytes) const noexcept { return a.bytes < bytes; }
  };
  using Entries = std::set<Entry, BySizeThenAddress>;
  using Node = Entries::node_type;
  using Place = Entries::const_iterator;

  // Throws std::bad_alloc.
  static Node make_node();

  void insert(Chunk& chunk) noexcept;  // marks it as free
  void remove(Chunk& chunk) noexcept;
  // Removes one chunk and inserts another, or the same one with another size. Faster than the two
  // calls when the place in the order stays.
  void replace(Chunk& removed, Chunk& inserted) noexcept;

  // Returns the smallest entry that is large enough, or end().
  Place at_least(std::size_t bytes) const noexcept { return entries_.lower_bound(bytes); }
  Place begin() const noexcept { return entries_.begin(); }
  Place end() const noexcept { return entries_.end(); }
  std::size_t largest_bytes() const noexcept {
    return entries_.empty() ? 0 : entries_.rbegin()->bytes;
  }

 private:
  bool ordered_at(Place place, const Entry& entry) const noexcept;

  Entries entries_;
};

// A piece of a segment, linked to its neighbours there.
struct Chunk {
  enum class State : std::uint8_t { kSpare, kUsed, kFree, kUncommitted };

  std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::size_t requested_bytes = 0;  // of the block that uses it
  Chunk* previous = nullptr;
  Chunk* next = nullptr;
  State state = State::kSpare;
  std::uint32_t pool = 0;                         // the allocator's number of its pool
  std::uint64_t freed_at = 0;                     // the allocator's clock when it was released
  FreeIndex::Node node = FreeIndex::make_node();  // while not in an index
  FreeIndex::Place place;                         // while in an index

  bool free() const noexcept { return state == State::kFree; }
  bool unsplit() const noexcept { return previous == nullptr && next == nullptr; }
};

inline void FreeIndex::insert(Chunk& chunk) noexcept {
  chunk.node.value() = {chunk.bytes, chunk.address, &chunk};
  chunk.place = entries_.insert(std::move(chunk.node)).position;
  chunk.state = Chunk::State::kFree;
}

inline void FreeIndex::remove(Chunk& chunk) noexcept { chunk.node = entries_.extract(chunk.place); }

inline bool FreeIndex::ordered_at(Place place, const Entry& entry) const noexcept {
  const BySizeThenAddress less;
  if (less(entry, *place)) return place == entries_.begin() || less(*std::prev(place), entry);
  const Place next = std::next(place);
  return next == entries_.end() || less(entry, *next);
}

inline void FreeIndex::replace(Chunk& removed, Chunk& inserted) noexcept {
  const Place place = removed.place;
  const Entry entry{inserted.bytes, inserted.address, &inserted};
  if (!ordered_at(place, entry)) {
    remove(removed);
    return insert(inserted);
  }
  place->bytes = entry.bytes;
  place->address = entry.address;
  place->chunk = entry.chunk;
  if (&removed != &inserted) removed.node = std::move(inserted.node);
  inserted.place = place;
  inserted.state = Chunk::State::kFree;
}

inline FreeIndex::Node FreeIndex::make_node() {
  Entries lone;
  return lone.extract(lone.emplace().first);
}

}  // namespace skyline
