#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skyline {

// B sentences without padding, time-major, as cuDNN and PyTorch's PackedSequence lay them out: the
// sentences sorted by length, longest first, equals by position; then all first words, all second
// words, and so on. R = Σ lengths, T = the longest length.
struct PackedWords {
  std::vector<std::int32_t> words;        // R ids
  std::vector<std::int32_t> batch_sizes;  // T; [t]: how many sentences are longer than t
  std::vector<std::int32_t> order;        // B; [k]: position in the batch of the k-th longest

  bool operator==(const PackedWords&) const = default;
};

// Throws DataError when there is no sentence, when one is empty (named by its position) or when
// there are more words than 2^31 − 1. Time O(R + B log B).
PackedWords pack(std::span<const std::vector<std::int32_t>> sentences);

// The inverse of pack(): the sentences in the batch's order. `words` may be any ids laid out like
// packed.words, what a model answered for instance.
std::vector<std::vector<std::int32_t>> unpack(const PackedWords& packed,
                                              std::span<const std::int32_t> words);

// rows[k] = the place in order `from` of the sentence that is at place k of order `to`, so that
// y[k] = x[rows[k]] takes states from one order to the other. Both are permutations of 0 … B − 1.
std::vector<std::int32_t> rows_between(std::span<const std::int32_t> from,
                                       std::span<const std::int32_t> to);

}  // namespace skyline
