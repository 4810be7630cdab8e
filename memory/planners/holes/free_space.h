// Free addresses: the ticks at which blocks use bytes, and the holes that placed blocks leave.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Renumbered ticks, half-open.
struct TickRange {
  std::int32_t lower, upper;

  bool meets(const TickRange& other) const { return lower < other.upper && other.lower < upper; }
};

// The ticks at which each block uses its bytes: its lifetime without its gaps.
class UsedTicks {
 public:
  // O(n).
  explicit UsedTicks(const Packing& packing);

  // Ascending and disjoint; none if gaps fill the block's lifetime.
  std::span<const TickRange> of(BlockIndex block) const {
    if (first_.empty()) return {&ranges_[block], 1};
    return {ranges_.data() + first_[block], first_[block + 1] - first_[block]};
  }

  // True if two blocks use their bytes at the same tick.
  bool meet(BlockIndex a, BlockIndex b) const;

 private:
  std::vector<TickRange> ranges_;  // by block
  // The first range of each block, and an end; empty if each block has one.
  std::vector<std::uint32_t> first_;
};

// Throws TraceError, naming a block, if two fixed blocks use the same address at the same tick.
// O(n log n).
void require_fixed_apart(const Packing& packing, const UsedTicks& ticks);

// Which of the holes that fit a block goes to.
enum class HoleChoice {
  kLowest,
  kSmallest,  // the lowest of equals; on top if no hole fits
};

// The addresses in use at each tick, where planners that place block by block look for holes. All
// addresses are below 2^63.
class UsedAddresses {
 public:
  virtual ~UsedAddresses() = default;

  virtual void clear() = 0;

  // Returns an address, at least `from`, where `bytes` are free at all these ticks.
  virtual std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                             std::uint64_t from, HoleChoice choice) const = 0;

  // Marks [begin, end) as used at these ticks.
  virtual void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) = 0;
};

// Used addresses as a list, the fastest structure up to a few thousand blocks.
//
// Entries lie in address order in small chunks. A search walks up the chunks and stops at the first
// hole. It skips chunks that end below its position and compares ticks eight at a time. O(entries
// below the hole), or O(all entries) for the smallest hole.
class AddressList : public UsedAddresses {
 public:
  void clear() override;
  std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes, std::uint64_t from,
                     HoleChoice choice) const override;
  void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) override;

 private:
  static constexpr std::size_t kChunkEntries = 128;
  static constexpr std::size_t kGroup = 8;
  // Sorted by begin. Entries beyond `count` have empty ticks, so they meet none.
  struct Chunk {
    std::array<std::int32_t, kChunkEntries> lower, upper;
    std::array<std::uint64_t, kChunkEntries> begin, end;
    std::size_t count;
    std::uint64_t highest_end;
  };

  static bool any_meets(TickRange entry, std::span<const TickRange> ticks);
  static bool any_meets(const Chunk& chunk, std::size_t group, std::span<const TickRange> ticks);
  template <class IsAbove, class Visit>
  void visit_in_the_way(std::span<const TickRange> ticks, const std::uint64_t& place,
                        IsAbove is_above, Visit visit) const;
  std::uint64_t lowest_hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                            std::uint64_t from) const;
  std::uint64_t smallest_hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                              std::uint64_t from) const;
  std::size_t chunk_for(std::uint64_t begin);
  void insert(TickRange ticks, std::uint64_t begin, std::uint64_t end);

  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> in_order_;  // chunks by address
};

// Used addresses as a segment tree over ticks, for many blocks.
//
// Each node covers a range of ticks and holds two sets of addresses: those used throughout its
// range (but not throughout its parent's), and those used in a proper part of it. The addresses in
// use at some ticks are the union of O(log n) sets. Touching addresses are merged into one
// interval; planners that put blocks on top of each other leave few intervals. An insertion costs
// about O(log² n). A search costs O(log n) for each interval below the hole, or for all intervals
// if the smallest hole is wanted; it starts at the address below which its nodes are known to have
// no hole.
class AddressTree : public UsedAddresses {
 public:
  // Serves ticks 0 … ticks − 1 and holes of at least `smallest_bytes`.
  AddressTree(std::int32_t ticks, std::uint64_t smallest_bytes);

  void clear() override;
  std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes, std::uint64_t from,
                     HoleChoice choice) const override;
  void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) override;

 private:
  struct Interval {
    std::uint64_t begin, end;
  };
  using Set = std::vector<Interval>;  // ascending; no two touch
  struct Node {
    Set throughout, partly;
    mutable std::uint64_t solid = 0;  // below it the node has no hole
  };
  // The part of a set that lies above the current address.
  struct Cursor {
    const Interval* at;
    const Interval* end;
  };

  static void add(Set& set, Interval interval);
  void use(std::size_t node, TickRange of_node, TickRange ticks, Interval interval);
  std::size_t largest_node(TickRange ticks) const;
  std::uint64_t solid_below(std::size_t node) const;
  void collect(std::size_t node, TickRange of_node, TickRange ticks, std::uint64_t from) const;
  void collect(const Set& set, std::uint64_t from) const;
  std::uint64_t climb(std::uint64_t place, std::uint64_t bytes) const;
  std::uint64_t next_used() const;

  const std::uint64_t smallest_bytes_;
  std::int32_t leaves_ = 1;              // a power of two
  std::vector<Node> nodes_;              // a heap: n has the children 2n and 2n + 1
  mutable std::vector<Cursor> cursors_;  // of the current search
};

// The addresses that are free at one tick of a sweep over time, as a best-fit pool keeps them: the
// holes below the highest used address, and all above it.
class FreeRanges {
 public:
  // Addresses below `bottom` are never free.
  explicit FreeRanges(std::uint64_t bottom) : top_(bottom) {}

  // Takes the lowest of the smallest holes that fit, or what lies above all used addresses. Returns
  // its address; 2^63 or more if the range would end there. O(log n).
  std::uint64_t take(std::uint64_t bytes);

  // Gives a taken range back and merges it with its neighbours. O(log n).
  void give(std::uint64_t begin, std::uint64_t bytes);

 private:
  void add(std::uint64_t begin, std::uint64_t end);
  void remove(std::map<std::uint64_t, std::uint64_t>::iterator hole);

  std::map<std::uint64_t, std::uint64_t> holes_;             // begin → end
  std::set<std::pair<std::uint64_t, std::uint64_t>> sizes_;  // bytes, begin
  std::uint64_t top_;                                        // end of the highest used range
};

}  // namespace skyline
