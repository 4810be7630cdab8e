#include "memory/planners/holes/address_tree.h"

#include <algorithm>
#include <bit>

namespace skyline {

AddressTree::AddressTree(std::int32_t ticks, std::uint64_t smallest_bytes)
    : smallest_bytes_(smallest_bytes),
      leaves_(
          static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(std::max(ticks, 1))))),
      nodes_(2 * static_cast<std::size_t>(leaves_)) {}

void AddressTree::clear() {
  for (Node& node : nodes_) {
    node.throughout.clear();
    node.partly.clear();
    node.solid = 0;
  }
}

void AddressTree::use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) {
  for (const TickRange& range : ticks) use(1, {0, leaves_}, range, {begin, end});
}

// Recurses at most 32 levels deep.
void AddressTree::use(std::size_t node, TickRange of_node, TickRange ticks, Interval interval) {
  if (ticks.lower <= of_node.lower && of_node.upper <= ticks.upper) {
    return add(nodes_[node].throughout, interval);
  }
  add(nodes_[node].partly, interval);
  const std::int32_t middle = of_node.lower + (of_node.upper - of_node.lower) / 2;
  if (ticks.lower < middle) use(2 * node, {of_node.lower, middle}, ticks, interval);
  if (middle < ticks.upper) use(2 * node + 1, {middle, of_node.upper}, ticks, interval);
}

void AddressTree::add(Set& set, Interval interval) {
  const auto first = std::partition_point(
      set.begin(), set.end(),
      [&interval](const Interval& other) { return other.end < interval.begin; });
  if (first == set.end() || interval.end < first->begin) {
    set.insert(first, interval);
    return;
  }
  first->begin = std::min(first->begin, interval.begin);
  if (interval.end <= first->end) return;
  auto last = first + 1;
  while (last != set.end() && last->begin <= interval.end) ++last;
  first->end = std::max((last - 1)->end, interval.end);
  set.erase(first + 1, last);
}

std::uint64_t AddressTree::hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                                std::uint64_t from, HoleChoice choice) const {
  for (const TickRange& range : ticks) from = std::max(from, solid_below(largest_node(range)));
  cursors_.clear();
  for (const TickRange& range : ticks) collect(1, {0, leaves_}, range, from);
  std::uint64_t place = climb(from, bytes);
  if (choice == HoleChoice::kLowest) return place;
  std::uint64_t smallest = place;
  std::uint64_t smallest_bytes = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t end = next_used(); end <= kMaxAddress; end = next_used()) {
    if (end - place < smallest_bytes) {
      smallest = place;
      smallest_bytes = end - place;
      if (smallest_bytes == bytes) break;
    }
    place = climb(end, bytes);
  }
  return smallest_bytes == std::numeric_limits<std::uint64_t>::max() ? place : smallest;
}

// Returns the largest of the nodes that make up a range.
std::size_t AddressTree::largest_node(TickRange ticks) const {
  auto lower = static_cast<std::size_t>(ticks.lower + leaves_);
  auto upper = static_cast<std::size_t>(ticks.upper + leaves_);
  std::size_t largest = lower;
  for (; lower < upper; lower /= 2, upper /= 2) {
    if (lower % 2 == 1) largest = lower++;
    if (upper % 2 == 1) largest = --upper;
  }
  return largest;
}

std::uint64_t AddressTree::solid_below(std::size_t node) const {
  std::uint64_t& solid = nodes_[node].solid;
  cursors_.clear();
  collect(nodes_[node].partly, solid);
  for (std::size_t n = node; n > 0; n /= 2) collect(nodes_[n].throughout, solid);
  return solid = climb(solid, smallest_bytes_);
}

void AddressTree::collect(std::size_t node, TickRange of_node, TickRange ticks,
                          std::uint64_t from) const {
  const Node& here = nodes_[node];
  collect(here.throughout, from);
  if (here.partly.empty()) return;
  if (ticks.lower <= of_node.lower && of_node.upper <= ticks.upper) {
    return collect(here.partly, from);
  }
  const std::int32_t middle = of_node.lower + (of_node.upper - of_node.lower) / 2;
  if (ticks.lower < middle) collect(2 * node, {of_node.lower, middle}, ticks, from);
  if (middle < ticks.upper) collect(2 * node + 1, {middle, of_node.upper}, ticks, from);
}

void AddressTree::collect(const Set& set, std::uint64_t from) const {
  const auto first = std::partition_point(
      set.begin(), set.end(), [from](const Interval& interval) { return interval.end <= from; });
  if (first != set.end()) cursors_.push_back({&*first, set.data() + set.size()});
}

// Returns the lowest address from `place` on with `bytes` free. Each cursor then points to its
// first interval above it.
std::uint64_t AddressTree::climb(std::uint64_t place, std::uint64_t bytes) const {
  std::size_t free_in = 0;  // number of cursors in a row that are free here
  for (std::size_t i = 0; free_in < cursors_.size(); i = i + 1 < cursors_.size() ? i + 1 : 0) {
    Cursor& cursor = cursors_[i];
    const std::uint64_t before = place;
    while (cursor.at != cursor.end && cursor.at->begin < place + bytes) {
      place = std::max(place, cursor.at->end);
      ++cursor.at;
    }
    free_in = place == before ? free_in + 1 : 1;
  }
  return place;
}

// Returns the end of the hole that climb() found; above 2^63 if nothing lies above it.
std::uint64_t AddressTree::next_used() const {
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  for (const Cursor& cursor : cursors_) {
    if (cursor.at != cursor.end) next = std::min(next, cursor.at->begin);
  }
  return next;
}

}  // namespace skyline
