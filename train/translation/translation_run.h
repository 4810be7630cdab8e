#pragma once

#include <memory>
#include <optional>
#include <span>

#include "models/seq2seq.h"
#include "train/optimizers/adam.h"
#include "train/run/model_run.h"
#include "train/translation/translation_step.h"

namespace skyline {

// A translation model with its memory and, in training mode, its optimizer.
class TranslationExperiment : public Workplace {
 public:
  TranslationExperiment(const MemoryOptions& memory_options,
                        const Context::Options& context_options, const Seq2SeqShape& shape);

  const Network& network() const override { return model; }
  std::span<const Buffer> optimizer_state() const override;

  Seq2Seq model;
  std::optional<Adam> optimizer;  // none in inference mode
};

// A training step to run without memory and without arithmetic, and how.
struct TranslationDryRun {
  Seq2SeqShape shape;
  PairBatch batch;
  bool in_place = true;
  bool guard = false;
  float clip = 0;
  std::shared_ptr<Compute> compute = {};  // whose kernels say what they need; null: the CPU
};

// What that step requests, with tags. Throws ShapeError.
Trace dry_run(const TranslationDryRun& options);

// The same for many batches of one model, which is made only once. Thread rule: one thread at a
// time.
class TranslationDryRunner {
 public:
  // The batch is not looked at.
  explicit TranslationDryRunner(const TranslationDryRun& how);
  Trace run(const PairBatch& batch);

 private:
  float clip_;
  TranslationExperiment experiment_;
};

}  // namespace skyline
