#pragma once

#include <cstdint>
#include <vector>

#include "data/text/pair_loader.h"

namespace skyline {

// Sentence pairs as long as those that the paper's example reads, drawn at random: WMT's English to
// French development sets of 2008 to 2012 (13,573 pairs, tokenized as data/text/tokenizer.h does)
// have 25.1 ± 14.0 English words, and log(French words / English words) is 0.150 ± 0.195. Here the
// source's length follows Erlang's distribution of shape 3 and that mean (± 14.5), the logarithm of
// the ratio a normal one; pairs with a side outside of 1 to `most_words` are drawn again, as the
// example leaves them out. The means of what is left are 21.2 and 24.4; the text's are 21.9 and
// 25.4.
struct SentenceLengths {
  std::vector<std::int32_t> source, target;  // as many of each
};

// The mini-batch number `number` of so many pairs; the same for the same arguments everywhere.
SentenceLengths drawn_lengths(std::int64_t pairs, std::uint64_t number,
                              std::int32_t most_words = 50);

// `count` mini-batches of such lengths, for dry runs.
std::vector<PairBatch> drawn_mini_batches(std::int64_t count, std::int64_t pairs);

}  // namespace skyline
