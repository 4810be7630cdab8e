#pragma once

#include <cstdint>
#include <vector>

#include "data/text/pair_loader.h"
#include "memory/trace.h"
#include "train/lab/pgmo/pgmo.h"

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

inline constexpr std::int64_t kPgmoAnswerWords = 100;  // of each of the paper's translations
inline constexpr std::int64_t kPgmoMiniBatches = 10;   // the paper measured after ten

// The step of a row and its memory, without what the heuristic plans for it. If mini-batches
// differ, the step is that of the one with the most live bytes.
struct PgmoStep {
  PgmoMemory memory;
  Trace trace;
};

// One of the paper's seq2seq experiments by dry run: 3 layers of 1024 units, vocabularies of 40,002
// words. Runs ten mini-batches of `batch_size` pairs, with lengths from drawn_mini_batches(), under
// each allocator: training steps, or translations of exactly 100 words. Sessions plan with
// best-fit. Under grow, the first mini-batch warms up on the pool; under upper-bound, one plan is
// made beforehand from dry runs of all mini-batches. Per-shape is left out: no shape occurs twice,
// so it would never use a plan. With `as_chainer`, ops are Chainer's.
PgmoStep pgmo_seq2seq(Mode mode, std::int64_t batch_size, bool as_chainer = false);

}  // namespace skyline
