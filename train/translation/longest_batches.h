#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/pair_loader.h"
#include "memory/trace.h"
#include "train/cli/figures.h"
#include "train/translation/translation_run.h"

namespace skyline {

// Memory that plans for a run's batches must hold, in bytes.
struct LongestBatchFacts {
  std::uint64_t live_bytes = 0;      // most bytes alive at once in one step; no arena is smaller
  std::uint64_t one_plan_bytes = 0;  // lower bound of one plan for all steps
  bool one_plan = true;              // one plan serves all; otherwise each batch has its own
};

// "longest batch: 13.1 MiB alive at once; one plan for all batches takes 0.63 % more and serves
// them"
std::string longest_batch_text(const LongestBatchFacts& facts);
Rows<LongestBatchFacts> rows(const LongestBatchFacts*);

// Returns those of a run's first `batches` batches that no other batch covers: none has as many
// sentences and words and is as long. `loader` must be at the first batch. The order of the batches
// does not matter.
std::vector<PairBatch> uncovered_batches(PairLoader& loader, std::int64_t batches);

// The steps of a run that need the most memory, from dry runs, for policy upper-bound.
struct LongestBatches {
  LongestBatchFacts facts;
  std::size_t batch = 0;  // the one with the most live bytes
  // The traces to adopt before the first step. The step with the most live bytes is first. If one
  // plan serves all, the other steps follow that may need more in some request.
  std::vector<Trace> steps;
};

// Searches uncovered batches; all batches of a dry step are the same one. Packed steps make the
// same number of requests for all lengths, and each request grows with the words, the sentences or
// the longest sentence, so one plan for the maximum serves all batches, in whatever sequence they
// come. It is chosen if it takes at most 1 % more than the longest batch. Otherwise each batch gets
// its own plan, see PlannedPairs. Unrolled LSTMs always do, because their number of requests
// depends on the lengths.
LongestBatches longest_batches(const std::vector<PairBatch>& batches, TranslationDryRun& dry,
                               bool unrolled);

}  // namespace skyline
