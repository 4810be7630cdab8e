#pragma once

#include <optional>

#include "train/options/train_options.h"
#include "train/translation/longest_batches.h"
#include "train/translation/planned_pairs.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"
#include "train/workload.h"

namespace skyline {

Seq2SeqShape seq2seq_shape(const TranslationOptions& options, const TranslationData& data);

// Trains a translation model with Adam; evaluations are corpus BLEU, exact matches and perplexity
// on validation pairs, and a sample translation. They are no steps and not planned (PGMO's
// interrupt): their memory is the arena's, which is free between steps, and the pool's only where
// they need more; that is given back afterwards.
class TranslationTask : public Task {
 public:
  // `options` are resolved.
  TranslationTask(const TrainOptions& options, SessionListener listener, Console& console);

  Workplace& workplace() override { return *experiment_; }
  std::string data_name() const override { return data_->name; }
  std::string_view item() const override { return "sentences"; }
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  std::vector<std::string> metric_names() const override {
    return {"bleu", "exact_match", "perplexity"};
  }

  void start(const std::filesystem::path& folder, TrainingPosition& position) override;
  void resume(const std::filesystem::path& folder, const TrainingPosition& position) override;
  void seek(const TrainingPosition& position) override;
  Step step(std::int64_t number, double learning_rate) override;
  Evaluation evaluate(std::int64_t number) override;
  bool evaluates_after(std::int64_t number) const override;
  std::vector<Trace> longest_steps() const override;
  ShapeKey longest_key() const override { return 0; }
  void add_facts(nlohmann::ordered_json& json, std::string& text) const override;
  std::string lengths_name() const override { return "longest sentence, in words"; }

 private:
  LongestBatches find_longest() const;

  TrainOptions options_;
  std::optional<TranslationData> data_;
  std::optional<TranslationExperiment> experiment_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<LongestBatches> longest_;  // under the policy upper-bound
  std::optional<PlannedPairs> pairs_;
};

}  // namespace skyline
