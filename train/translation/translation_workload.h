#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/text/pair_loader.h"
#include "memory/trace.h"
#include "train/data_results.h"
#include "train/decide/live_parts.h"
#include "train/decide/step_budget.h"
#include "train/decide/warm_up.h"
#include "train/options/train_options.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"
#include "train/workload.h"

namespace skyline {

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

// Trains a translation model on pairs of sentences.
class TranslationWorkload final : public Workload {
 public:
  // `options` must be resolved. The console outlives the workload.
  TranslationWorkload(const TrainOptions& options, const LiveParts& live, Console& console);

  std::vector<ReportFact> facts(Mode mode) const override;
  StepTrial dry_step(const StepDecisions& decisions) override;
  DryRunFacts longest_step(const StepDecisions& decisions, Mode mode) override;
  using Workload::on;
  std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& memory,
                               Mode mode, const MemoryWatch& watch) override;

  void save(const std::filesystem::path& folder, StoredJson& data) const override;
  void check_data(const StoredJson& data) const override;
  void resume(const std::filesystem::path& folder, const StoredJson& data) override;
  DataResults results(const StepDecisions& decisions) override;

 private:
  // What was found of the run's steps with these decisions.
  struct Longest {
    SumBuckets buckets;
    Savings savings;
    LongestBatches batches;
  };
  struct Trial {
    SumBuckets buckets;
    TranslationDryRun run;
  };
  TranslationRunOptions run_options(const StepDecisions& decisions,
                                    const MemoryWatch& watch = {}) const;
  TranslationDryRun dry_run(const StepDecisions& decisions) const;
  // Returns what steps that are planned one by one may recompute: nothing, or what the longest one
  // does, or what a search finds. Tries the batches that no other covers. Throws UsageError if one
  // does not fit.
  StepChoices choices_within_budget(const StepDecisions& decisions, const Session& session,
                                    const MemoryOptions& memory);
  // Returns what makes a step of these batches fit. Throws UsageError.
  Savings search_within(std::uint64_t bytes, const ProfileKey& key,
                        const std::vector<PairBatch>& batches, TranslationDryRun& dry) const;
  PlanNeeds needs(const StepDecisions& decisions);
  // Searched for on the first call.
  const std::vector<PairBatch>& batches();
  const LongestBatches& longest(const StepDecisions& decisions);

  TrainOptions options_;
  LiveParts live_;
  Console& console_;
  TranslationData data_;
  TranslationRunOptions run_options_;
  std::optional<std::vector<PairBatch>> batches_;
  std::optional<Longest> longest_;
  std::optional<Trial> trial_;
};

}  // namespace skyline
