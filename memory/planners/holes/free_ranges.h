#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace skyline {

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
