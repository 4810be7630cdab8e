#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skyline {

// The layout of sentences of different lengths in one tensor without padding: *packed, time-major*,
// as in cuDNN and in PyTorch's PackedSequence. Sentences are sorted by length, longest first; rows
// hold all first words, then all second words, and so on:
//
//   lengths 3, 2, 2 as rows:  a1 b1 c1 | a2 b2 c2 | a3       batch_sizes 3, 3, 1
//
// So the sentences that still run at a step are the first rows of the step before.
class PackedShape {
 public:
  // batch_sizes[t] is the number of sentences longer than t words. Throws ShapeError if there is no
  // step, or a size is not positive or greater than the one before.
  explicit PackedShape(std::vector<std::int32_t> batch_sizes);
  // Packs sentences of these lengths, longest first. Throws ShapeError, which names the sentence,
  // on an empty one and on one longer than its predecessor.
  static PackedShape of_lengths(std::span<const std::int32_t> lengths);

  const std::vector<std::int32_t>& batch_sizes() const noexcept { return batch_sizes_; }
  // The first row of each step.
  const std::vector<std::int64_t>& offsets() const noexcept { return offsets_; }
  std::int64_t rows() const noexcept { return rows_; }  // words of all sentences
  std::int64_t steps() const noexcept { return static_cast<std::int64_t>(batch_sizes_.size()); }
  std::int64_t sentences() const noexcept { return batch_sizes_.front(); }
  std::int64_t size(std::int64_t step) const noexcept {
    return batch_sizes_[static_cast<std::size_t>(step)];
  }
  std::int64_t offset(std::int64_t step) const noexcept {
    return offsets_[static_cast<std::size_t>(step)];
  }
  // Returns how many sentences have their last word at `step`; they are the last rows of that step.
  std::int64_t finished(std::int64_t step) const noexcept {
    return size(step) - (step + 1 < steps() ? size(step + 1) : 0);
  }
  bool operator==(const PackedShape&) const = default;

 private:
  std::vector<std::int32_t> batch_sizes_;
  std::vector<std::int64_t> offsets_;
  std::int64_t rows_ = 0;
};

}  // namespace skyline
