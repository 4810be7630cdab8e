#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/data/test_random.h"

namespace skyline {

using Sentences = std::vector<std::vector<std::int32_t>>;

// Returns `count` sentences of 1 to `most_words` ids. Ids start at 2, and each occurs only once.
inline Sentences random_sentences(std::uint64_t seed, std::size_t count, std::size_t most_words) {
  const RandomBits random = test_random(seed);
  Sentences sentences(count);
  std::int32_t id = 2;
  for (std::size_t i = 0; i < count; ++i) {
    sentences[i].resize(1 + random(0, i)[0] % most_words);
    for (std::int32_t& word : sentences[i]) word = id++;
  }
  return sentences;
}

}  // namespace skyline
