#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline {

// Values of a run of any length in bounded memory: all of them at first, later every second, every
// fourth and so on, always with the first.
template <typename T, std::size_t kMost = 4096>
class Samples {
 public:
  void add(const T& value) {
    if (seen_++ % stride_ != 0) return;
    kept_.push_back(value);
    if (kept_.size() < kMost) return;
    std::size_t index = 0;
    std::erase_if(kept_, [&index](const T&) { return index++ % 2 == 1; });
    stride_ *= 2;
  }

  const std::vector<T>& kept() const noexcept { return kept_; }
  // Each stride()-th value is kept.
  std::uint64_t stride() const noexcept { return stride_; }

 private:
  std::vector<T> kept_;
  std::uint64_t seen_ = 0, stride_ = 1;
};

}  // namespace skyline
