#pragma once

#include <optional>
#include <span>

#include "models/seq2seq.h"
#include "train/adam.h"
#include "train/translation_step.h"
#include "train/workplace.h"

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
};

// What that step requests, with tags. Throws ShapeError.
Trace dry_run(const TranslationDryRun& options);

}  // namespace skyline
