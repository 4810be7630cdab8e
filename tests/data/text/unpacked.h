#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "data/text/pair_loader.h"

namespace skyline {

// The inverse of pack(): returns the sentences in the batch's order. `words` may be any ids laid
// out like packed.words. Throws std::invalid_argument when their number differs.
inline std::vector<std::vector<std::int32_t>> unpacked(const PackedWords& packed,
                                                       std::span<const std::int32_t> words) {
  if (words.size() != packed.words.size()) throw std::invalid_argument("other number of words");
  std::vector<std::vector<std::int32_t>> sentences(packed.order.size());
  std::size_t row = 0;
  for (const std::int32_t count : packed.batch_sizes) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      sentences[static_cast<std::size_t>(packed.order[k])].push_back(words[row++]);
    }
  }
  return sentences;
}

}  // namespace skyline
