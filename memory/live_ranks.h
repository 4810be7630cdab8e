#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace skyline {

// A set of numbers below a limit, as bits: a word of a level says which words below it hold some.
// All functions take O(log n) with base 64.
class LiveRanks {
 public:
  explicit LiveRanks(std::size_t limit);

  void insert(std::size_t rank);
  void erase(std::size_t rank);
  // Return the nearest number of the set above or below `rank`.
  std::optional<std::size_t> above(std::size_t rank) const;
  std::optional<std::size_t> below(std::size_t rank) const;

 private:
  std::vector<std::vector<std::uint64_t>> levels_;  // level 0 has a bit for each number
};

}  // namespace skyline
