#include "data/text/packed_words.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>

#include "data/errors.h"

namespace skyline {
namespace {

using Sentences = std::span<const std::vector<std::int32_t>>;

std::size_t checked_words(Sentences sentences) {
  if (sentences.empty()) throw DataError("batch", "no sentence to pack");
  std::size_t words = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].empty()) {
      throw DataError("batch", "words of sentence " + std::to_string(i), "0", "at least 1");
    }
    words += sentences[i].size();
  }
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (words > kMost) {
    throw DataError("batch", "words", std::to_string(words), "at most " + std::to_string(kMost));
  }
  return words;
}

std::vector<std::int32_t> by_length(Sentences sentences) {
  std::vector<std::int32_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [sentences](std::int32_t index) {
    return sentences[static_cast<std::size_t>(index)].size();
  });
  return order;
}

std::size_t at(std::span<const std::int32_t> values, std::size_t index) {
  return static_cast<std::size_t>(values[index]);
}

}  // namespace

PackedWords pack(Sentences sentences) {
  PackedWords packed;
  packed.words.reserve(checked_words(sentences));
  packed.order = by_length(sentences);
  std::size_t count = sentences.size();  // of sentences longer than t
  for (std::size_t t = 0;; ++t) {
    while (count > 0 && sentences[at(packed.order, count - 1)].size() <= t) --count;
    if (count == 0) return packed;
    packed.batch_sizes.push_back(static_cast<std::int32_t>(count));
    for (std::size_t k = 0; k < count; ++k) {
      packed.words.push_back(sentences[at(packed.order, k)][t]);
    }
  }
}

std::vector<std::int32_t> rows_between(std::span<const std::int32_t> from,
                                       std::span<const std::int32_t> to) {
  if (from.size() != to.size()) {
    throw DataError("batch", "sentences of the other order", std::to_string(to.size()),
                    std::to_string(from.size()));
  }
  std::vector<std::int32_t> place(from.size());  // place of each sentence in `from`
  for (std::size_t k = 0; k < from.size(); ++k) place[at(from, k)] = static_cast<std::int32_t>(k);
  std::vector<std::int32_t> rows(to.size());
  for (std::size_t k = 0; k < to.size(); ++k) rows[k] = place[at(to, k)];
  return rows;
}

}  // namespace skyline
