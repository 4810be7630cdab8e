#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/text/pair_loader.h"
#include "memory/trace.h"
#include "train/translation/translation_run.h"

namespace skyline {

// What plans for a run's batches must hold, in bytes.
struct LongestBatchFacts {
  std::uint64_t live_bytes = 0;      // the most alive at once in one step: no arena is smaller
  std::uint64_t one_plan_bytes = 0;  // no plan that serves all steps by itself is smaller
  bool one_plan = true;              // one plan serves all; otherwise each batch has its own
};

// "longest batch: 13.1 MiB alive at once; one plan for all batches takes 0.63 % more and serves
// them"
std::string longest_batch_text(const LongestBatchFacts& facts);
nlohmann::ordered_json to_json(const LongestBatchFacts& facts);

// The steps of a run that ask for the most memory, from dry runs, for the policy upper-bound.
struct LongestBatches {
  LongestBatchFacts facts;
  // What to adopt before the first step: the step with the most live bytes first; where one plan
  // serves all, also the others that may ask for more of something.
  std::vector<Trace> steps;
};

// Searches the first `steps` batches of a run, whatever their order. `loader` starts at the first.
// A packed step makes the same number of requests whatever its lengths, and each grows with words,
// sentences or longest sentences: one plan for the maximum serves all. It is chosen where it takes
// at most 1 % more than the longest batch. Otherwise, and where LSTMs are unrolled, so that the
// number of requests depends on the lengths, each batch gets a plan of its own, see PlannedPairs.
LongestBatches longest_batches(PairLoader& loader, std::int64_t steps, TranslationDryRun& dry,
                               bool unrolled);

}  // namespace skyline
