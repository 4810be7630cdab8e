#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline {

// Sentences of word ids in a single buffer. A sentence costs 8 bytes beyond its words.
class SentenceList {
 public:
  std::size_t size() const noexcept { return ends_.size(); }
  bool empty() const noexcept { return ends_.empty(); }
  // Requires index < size(). The span is valid until the next push_back().
  std::span<const std::int32_t> operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return {words_.data() + begin, ends_[index] - begin};
  }
  // The words of all sentences, in order.
  std::span<const std::int32_t> words() const noexcept { return words_; }

  void push_back(std::span<const std::int32_t> sentence) {
    words_.insert(words_.end(), sentence.begin(), sentence.end());
    ends_.push_back(words_.size());
  }
  bool operator==(const SentenceList&) const = default;

 private:
  std::vector<std::int32_t> words_;
  std::vector<std::size_t> ends_;
};

}  // namespace skyline
