#pragma once

#include <memory>
#include <optional>

#include "data/text/pair_loader.h"
#include "models/seq2seq.h"
#include "train/run/dry_run.h"
#include "train/run/model_run.h"
#include "train/translation/planned_pairs.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_step.h"

namespace skyline {

struct TranslationRunOptions {
  Seq2SeqShape shape;
  OptimizerOptions optimizer = {.name = "adam"};
  std::int64_t sentence_words = 30;  // of the batches that take_empty_batch() makes, on both sides
  // How batches are read and evaluated, from runs with data.
  PairLoaderOptions loader = {};
  std::size_t val_pairs = 1000;  // so many are translated for BLEU, at most
  // Each batch is run dry and planned for before its step; see PlannedPairs. `compute` is then the
  // dry runs' own, which are on another thread.
  bool plan_each_batch = false;
  std::shared_ptr<Compute> dry_compute = {};
};

// A translation model.
class TranslationRun final : public ModelRun {
 public:
  // Without `data` it runs the batches that are given to it. `data` outlives it.
  // Throws ShapeError, OutOfMemory.
  TranslationRun(const MemoryOptions& memory_options, const Context::Options& context_options,
                 TranslationRunOptions options, const TranslationData* data = nullptr);

  const Network& network() const override { return model; }

  void seek(const BatchPosition& position, std::uint64_t seed) override;
  double next() override;
  void take_empty_batch(std::int64_t size) override;
  void take(PairBatch batch) { batch_ = std::move(batch); }
  BatchFacts batch_facts() const override;

  using ModelRun::step;
  // take() and step().
  float step(const PairBatch& batch, const UpdateParams& params);
  Tensor forward_loss() override { return translation_loss(context, model, batch_); }
  float inference_step() override { return translation_inference_step(context, model, batch_); }
  ShapeKey shape_key() const override { return translation_key(batch_); }
  std::size_t input_bytes() const override { return skyline::input_bytes(batch_); }

  // Corpus BLEU, exact matches and perplexity on validation pairs, and one sample translation. They
  // are no steps and not planned (PGMO's interrupt): their memory is the arena's, which is free
  // between steps, and the pool's only where they need more; that is given back afterwards.
  Evaluation evaluate(std::int64_t number, const EvaluationProgress& progress) override;

  Seq2Seq model;

 private:
  TranslationRunOptions options_;
  const TranslationData* data_;
  std::optional<PlannedPairs> pairs_;
  PairBatch batch_;
};

// Runs training steps of given batches dry. Thread rule: one thread at a time.
class TranslationDryRun {
 public:
  TranslationDryRun(const Context::Options& context_options, const TranslationRunOptions& options,
                    bool guard = false);
  // What the step requests, with tags. Throws ShapeError.
  Trace trace(const PairBatch& batch);

 private:
  TranslationRun* run_;  // of dry_
  DryRun dry_;
};

}  // namespace skyline
