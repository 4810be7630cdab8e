#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace skyline {

// The least value over each place of a row, given values for ranges of places: a sparse table the
// other way round. A range is noted in two places of the level of its length's logarithm, O(1); the
// levels are then brought down to the row at once, O(row × levels) in straight loops.
template <typename Value>
class RangeMinimum {
 public:
  static constexpr Value kNone = std::numeric_limits<Value>::max() / 2;

  // A row of `places`, and the half-open ranges that values will be noted for, by number.
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

  // Forgets all that was noted for places [first, last).
  void clear(std::size_t first, std::size_t last) {
    for (std::size_t level = 0; level <= level_of(last - first); ++level) {
      std::fill_n(table_.begin() + static_cast<std::ptrdiff_t>(level * places_ + first),
                  last - first, kNone);
    }
  }

  // The range lies within the places cleared last.
  void note(std::size_t range, Value value) {
    Value& head = table_[spots_[range].head];
    head = std::min(head, value);
    Value& tail = table_[spots_[range].tail];
    tail = std::min(tail, value);
  }

  // The least value noted for each of the places [first, last), kNone for none; the row begins at
  // place 0.
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
  std::vector<Value> table_;  // level × place
  std::vector<Spots> spots_;  // of ranges
};

}  // namespace skyline
