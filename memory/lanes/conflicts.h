#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline {

// Pairs of things that no path orders, a bit for each: ops that may run at once, or blocks that may
// be in use at once. Of two things that do not conflict, the one with the lower number comes first,
// and whatever comes before a thing comes before all that follow it.
class Conflicts {
 public:
  explicit Conflicts(std::size_t size)
      : size_(size), words_((size + 63) / 64), bits_(size * words_) {}

  std::size_t size() const { return size_; }
  bool conflict(std::size_t a, std::size_t b) const {
    return (bits_[a * words_ + b / 64] >> (b % 64) & 1) != 0;
  }
  void add(std::size_t a, std::size_t b) {
    set(a, b);
    set(b, a);
  }
  // The conflicts of one thing, 64 in a word.
  std::span<const std::uint64_t> row(std::size_t a) const {
    return {bits_.data() + a * words_, words_};
  }

 private:
  void set(std::size_t a, std::size_t b) {
    bits_[a * words_ + b / 64] |= std::uint64_t{1} << (b % 64);
  }

  std::size_t size_, words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace skyline
