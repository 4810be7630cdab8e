#pragma once

#include <vector>

#include "memory/planners/holes/used_addresses.h"

namespace skyline {

// Used addresses as a segment tree over the ticks, for many blocks.
//
// Each node stands for a range of ticks and knows two sets of addresses: those used throughout its
// ticks (but not its parent's), and those used in some proper part of them. What is in use at some
// ticks is the union of O(log n) sets. In each, addresses that touch are one interval; planners
// that put each block on top of another leave few of them. An entry costs about O(log² n), a search
// O(log n) for each interval below the hole, or, for the smallest hole, in the whole column of
// addresses; but nodes remember below which address they have no hole, and searches begin there.
class AddressTree : public UsedAddresses {
 public:
  // For ticks 0 … ticks − 1, and holes of at least `smallest_bytes`.
  AddressTree(std::int32_t ticks, std::uint64_t smallest_bytes);

  void clear() override;
  std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes, std::uint64_t from,
                     HoleChoice choice) const override;
  void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) override;

 private:
  struct Interval {
    std::uint64_t begin, end;
  };
  using Set = std::vector<Interval>;  // ascending, none touches the next
  struct Node {
    Set throughout, partly;
    mutable std::uint64_t solid = 0;  // below it, no hole in all of the node's ticks at once
  };
  // What is left of a set above the place reached.
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
  std::vector<Node> nodes_;              // a heap: the children of n are 2n and 2n + 1
  mutable std::vector<Cursor> cursors_;  // of the search under way
};

}  // namespace skyline
