#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skyline {

// B sentences without padding, time-major, laid out like PyTorch's PackedSequence and as cuDNN
// wants them: sentences are sorted by length, longest first, ties by position; then come all first
// words, all second words, and so on. R = Σ lengths, T = the longest length.
struct PackedWords {
  std::vector<std::int32_t> words;        // R ids
  std::vector<std::int32_t> batch_sizes;  // T; [t]: number of sentences longer than t
  std::vector<std::int32_t> order;        // B; [k]: batch position of the k-th longest sentence

  bool operator==(const PackedWords&) const = default;
};

// Throws DataError when there is no sentence, a sentence is empty (named by its position), or there
// are more than 2^31 − 1 words. Time O(R + B log B).
PackedWords pack(std::span<const std::vector<std::int32_t>> sentences);

// Returns rows such that y[k] = x[rows[k]] moves states from order `from` to order `to`: rows[k] is
// the place in `from` of the sentence at place k of `to`. Both are permutations of 0 … B − 1;
// throws DataError when their sizes differ.
std::vector<std::int32_t> rows_between(std::span<const std::int32_t> from,
                                       std::span<const std::int32_t> to);

}  // namespace skyline
