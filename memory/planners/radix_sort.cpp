#include "memory/planners/radix_sort.h"

#include <algorithm>
#include <array>

namespace skyline {
namespace {

constexpr unsigned kDigitBits = 11;  // a histogram fits in the first-level cache
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kFewItems = 1000;  // below it, comparing is faster than counting

void sort_by_digit(const std::vector<KeyedIndex>& from, unsigned shift,
                   std::vector<KeyedIndex>& to) {
  const auto digit = [shift](const KeyedIndex& item) {
    return (item.key >> shift) & (kDigits - 1);
  };
  std::array<std::uint32_t, kDigits + 1> place{};
  for (const KeyedIndex& item : from) ++place[digit(item) + 1];
  for (std::size_t i = 1; i <= kDigits; ++i) place[i] += place[i - 1];
  for (const KeyedIndex& item : from) to[place[digit(item)]++] = item;
}

}  // namespace

void radix_sort(std::vector<KeyedIndex>& items) {
  if (items.size() < kFewItems) {
    std::stable_sort(items.begin(), items.end(),
                     [](const KeyedIndex& a, const KeyedIndex& b) { return a.key < b.key; });
    return;
  }
  std::uint64_t differing = 0;  // as bits
  for (const KeyedIndex& item : items) differing |= item.key ^ items[0].key;
  std::vector<KeyedIndex> sorted(items.size());
  for (unsigned shift = 0; shift < 64; shift += kDigitBits) {
    if (((differing >> shift) & (kDigits - 1)) == 0) continue;
    sort_by_digit(items, shift, sorted);
    std::swap(items, sorted);
  }
}

}  // namespace skyline
