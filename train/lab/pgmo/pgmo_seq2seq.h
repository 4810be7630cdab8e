#pragma once

#include <cstdint>

#include "memory/trace.h"
#include "train/lab/pgmo/pgmo.h"

namespace skyline {

// One of the paper's seq2seq experiments by dry run: 3 layers of 1024 units, 40,002 words a side.
struct PgmoSeq2Seq {
  PgmoRow row;    // but for what planning the longest mini-batch takes
  Trace longest;  // of the mini-batch with the most bytes alive at once
};

// Runs ten mini-batches of `batch_size` pairs one after the other, as long as drawn_mini_batches()
// says, under each allocator: training steps, or translations of exactly 100 words. Sessions plan
// with best-fit; under grow the first mini-batch warms up on the pool, under upper-bound dry runs
// of all of them are planned for beforehand. Under per-shape there would be nothing to plan, as no
// shape comes twice.
PgmoSeq2Seq pgmo_seq2seq(Mode mode, std::int64_t batch_size);

}  // namespace skyline
