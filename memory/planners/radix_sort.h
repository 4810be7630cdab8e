#pragma once

#include <cstdint>
#include <vector>

namespace skyline {

// A position and the key to sort it by.
struct KeyedIndex {
  std::uint64_t key;
  std::uint32_t index;
};

// Sorts by ascending key; stable. O(n) for keys that differ in few digits. Needs a second list.
void radix_sort(std::vector<KeyedIndex>& items);

}  // namespace skyline
