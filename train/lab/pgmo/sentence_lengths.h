#pragma once

#include <cstdint>
#include <vector>

#include "data/text/pair_loader.h"

namespace skyline {

// Lengths of random sentence pairs, distributed like the data of the paper's example: the English
// to French development sets of WMT 2008 to 2012 (13,573 pairs, tokenized by data/text/tokenizer.h)
// have 25.1 ± 14.0 English words, and log(French words / English words) is 0.150 ± 0.195. We draw
// the source length from an Erlang distribution of shape 3 with that mean (± 14.5), and the
// logarithm of the ratio from a normal distribution. Pairs with a side outside 1 to `most_words`
// are redrawn, because the example leaves them out. The remaining means are 21.2 and 24.4; those of
// the text are 21.9 and 25.4.
struct SentenceLengths {
  std::vector<std::int32_t> source, target;  // of equal size
};

// Returns the lengths of mini-batch `number`; the same arguments give the same lengths on every
// machine.
SentenceLengths drawn_lengths(std::int64_t pairs, std::uint64_t number,
                              std::int32_t most_words = 50);

// Returns `count` mini-batches of such lengths, for dry runs.
std::vector<PairBatch> drawn_mini_batches(std::int64_t count, std::int64_t pairs);

}  // namespace skyline
