#pragma once

#include <cstdint>

#include "memory/trace.h"
#include "train/lab/pgmo/pgmo.h"

namespace skyline {

// One of the paper's seq2seq experiments by dry run: 3 layers of 1024 units, vocabularies of 40,002
// words.
struct PgmoSeq2Seq {
  PgmoRow row;    // without the figures of planning the longest mini-batch
  Trace longest;  // of the mini-batch with the most live bytes
};

// Runs ten mini-batches of `batch_size` pairs, with lengths from drawn_mini_batches(), under each
// allocator: training steps, or translations of exactly 100 words. Sessions plan with best-fit.
// Under grow, the first mini-batch warms up on the pool; under upper-bound, one plan is made
// beforehand from dry runs of all mini-batches. Per-shape is left out: no shape occurs twice, so it
// would never use a plan.
PgmoSeq2Seq pgmo_seq2seq(Mode mode, std::int64_t batch_size);

}  // namespace skyline
