#pragma once

#include <optional>

#include "train/options/train_options.h"
#include "train/translation/longest_batches.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"
#include "train/workload.h"

namespace skyline {

// Trains a translation model on pairs of sentences.
class TranslationWorkload final : public Workload {
 public:
  // `options` must be resolved. The console outlives the workload.
  TranslationWorkload(const TrainOptions& options, Console& console);

  std::string data_name() const override { return data_.name; }
  std::string_view item() const override { return "sentences"; }
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  std::vector<Metric> metrics() const override {
    return {{"bleu", "validation BLEU", MetricKind::kNumber},
            {"exact_match", "validation exact match", MetricKind::kShare},
            {"perplexity", "validation perplexity", MetricKind::kNumber},
            {"validation_loss", "validation", MetricKind::kLoss}};
  }
  std::string lengths_name() const override { return "longest sentence, in words"; }
  std::vector<ReportFact> facts(Mode mode) const override;

  DryRunFacts longest_step(Mode mode) override;
  std::optional<LongestBatchFacts> longest_batch() override { return longest().facts; }

  void save(const std::filesystem::path& folder, TrainingPosition& position) const override;
  void check_data(const TrainingPosition& position) const override;
  void resume(const std::filesystem::path& folder, const TrainingPosition& position) override;
  void add_facts(nlohmann::ordered_json& json, std::string& text) override;

 private:
  std::unique_ptr<ModelRun> make_run(const MemoryOptions& memory, Mode mode) override;
  std::optional<Needs> needs(Mode mode) override;
  // Returns what steps that are planned one by one may make again: nothing, or what the longest one
  // does, or what a search finds. Tries the batches that no other covers. Throws UsageError if one
  // does not fit.
  StepChoices choices_within_budget(const Session& session, const MemoryOptions& memory);
  // Returns what makes a step of these batches fit. Throws UsageError.
  Savings search_within(std::uint64_t bytes, const std::vector<PairBatch>& batches,
                        TranslationDryRun& dry) const;
  StepTrial trial(const Savings& savings, bool other_engines) override;
  void forget_steps() override {
    longest_.reset();
    trial_.reset();
  }
  TranslationRunOptions run_options() const;
  // True if runs plan before their first step.
  static bool plans_ahead(const MemoryOptions& memory);
  // Searched for on the first call.
  const std::vector<PairBatch>& batches();
  const LongestBatches& longest();

  TranslationData data_;
  TranslationRunOptions run_options_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<std::vector<PairBatch>> batches_;
  std::optional<LongestBatches> longest_;
  std::optional<TranslationDryRun> trial_;
};

}  // namespace skyline
