#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline {

// Finds the steps of a program that marks none, from the sizes of its requests: a sequence of at
// least 20 that was made three times in a row. Layers repeat within a step, too, so a period that
// soon breaks is followed by one of at least twice its length. O(1) a request.
class PeriodFinder {
 public:
  // Notes the next request; true when it ends a period.
  bool add(std::uint64_t bytes);
  // True while the program repeats a period.
  bool known() const noexcept { return known_; }
  std::size_t period() const noexcept { return period_; }

 private:
  static constexpr std::size_t kMostRequests = std::size_t{1} << 15;
  static constexpr std::size_t kContext = 16;  // requests that say where in a period the program is
  static constexpr std::uint64_t kLasting = 32;  // periods after which layers are ruled out

  std::uint64_t before(std::size_t requests) const noexcept {
    return sizes_[(count_ - requests) % kMostRequests];
  }
  void lose();

  std::vector<std::uint64_t> sizes_;     // the last ones, as a ring
  std::vector<std::size_t> seen_after_;  // hash of a context → the count after it
  std::size_t count_ = 0;
  std::size_t period_ = 0;  // a guess until known; 0: none
  std::size_t run_ = 0;     // requests that repeated the one a period before
  std::size_t least_ = 20;
  bool known_ = false;
};

}  // namespace skyline
