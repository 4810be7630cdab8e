#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace skyline {

// Computes the minimum at each place of a row from values given for ranges of places: a sparse
// table used backwards. Noting a range updates two entries at the level of log2(length), O(1).
// row() then pushes all levels down, O(row × levels) in straight loops.
template <typename Value>
class RangeMinimum {
 public:
  static constexpr Value kNone = std::numeric_limits<Value>::max() / 2;

  // Takes the length of the row and the half-open ranges, by number, that note() will be called
  // with.
  template <typename Ranges>
  RangeMinimum(std::size_t places, const Ranges& ranges) : places_(places) {
    table_.resize(places * (level_of(places) + 1));
    for (const auto& range : ranges) {
      const auto begin = static_cast<std::size_t>(range.begin);
      const auto end = static_cast<std::size_t>(range.end);
      const std::size_t level = level_of(end - begin);
      spots_.push_back(
          {static_cast<std::uint32_t>(level * places + begin),
           static_cast<std::uint32_t>(level * places + end - (std::size_t{1} << level))});
    }
  }

  // Forgets all values for places [first, last).
  void clear(std::size_t first, std::size_t last) {
    for (std::size_t level = 0; level <= level_of(last - first); ++level) {
      std::fill_n(table_.begin() + static_cast<std::ptrdiff_t>(level * places_ + first),
                  last - first, kNone);
    }
  }

  // Notes a value for a range, which must lie within the places cleared last.
  void note(std::size_t range, Value value) {
    Value& head = table_[spots_[range].head];
    head = std::min(head, value);
    Value& tail = table_[spots_[range].tail];
    tail = std::min(tail, value);
  }

  // Returns the row from place 0 on, of which [first, last) is valid: the minimum at each place, or
  // kNone.
  const Value* row(std::size_t first, std::size_t last) {
    for (std::size_t level = level_of(last - first); level > 0; --level) {
      const std::size_t half = std::size_t{1} << (level - 1);
      const Value* from = table_.data() + level * places_;
      Value* to = table_.data() + (level - 1) * places_;
      for (std::size_t i = first; i + 2 * half <= last; ++i) to[i] = std::min(to[i], from[i]);
      for (std::size_t i = first; i + 2 * half <= last; ++i) {
        to[i + half] = std::min(to[i + half], from[i]);
      }
    }
    return table_.data();
  }

 private:
  struct Spots {
    std::uint32_t head, tail;
  };

  static std::size_t level_of(std::size_t length) {
    return static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(length, 1)) - 1);
  }

  std::size_t places_;
  std::vector<Value> table_;  // by level, then place
  std::vector<Spots> spots_;  // by range
};

}  // namespace skyline
