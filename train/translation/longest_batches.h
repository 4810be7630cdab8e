#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "memory/trace.h"
#include "train/options/train_options.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"

namespace skyline {

// What plans for a run's batches have to hold, in bytes.
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
  // What to adopt before the first step: of the batch with the most live bytes, and where one plan
  // serves all, of all others that may ask for more of something.
  std::vector<Trace> steps;
};

// Among the first `steps` of a run, whatever their order. A packed step makes the same requests
// whatever its lengths, each of which grows with words, sentences or longest sentences: one plan
// for the maximum serves all. It is chosen where it takes at most 1 % more than the longest batch;
// otherwise, and where LSTMs are unrolled, whose number of requests depends on the lengths, each
// batch is to have a plan of its own, see PlannedPairs.
LongestBatches longest_batches(const TrainOptions& options, const TranslationData& data,
                               std::int64_t steps);

// How the steps of a run are run dry.
TranslationDryRun translation_dry_run(const TrainOptions& options, const TranslationData& data);

}  // namespace skyline
