#pragma once

#include <vector>

#include "memory/planners/holes/used_addresses.h"

namespace skyline {

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

}  // namespace skyline
