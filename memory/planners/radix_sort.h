#pragma once

#include <cstdint>
#include <vector>

namespace skyline {

// What is sorted, and by which key.
struct KeyedIndex {
  std::uint64_t key;
  std::uint32_t index;
};

// Sorts by ascending key; equal keys keep their order. O(n) for keys of a few digits that differ,
// with as much memory again.
void radix_sort(std::vector<KeyedIndex>& items);

}  // namespace skyline
