#pragma once

#include <cstddef>
#include <string>

#include "framework/context.h"
#include "models/seq2seq.h"
#include "train/run/evaluation.h"
#include "train/run/step_shares.h"
#include "train/translation/bleu.h"
#include "train/translation/translation_data.h"
#include "train/translation/translator.h"

namespace skyline {

// Translation quality of a model.
struct TranslationQuality {
  Bleu bleu;  // over the first pairs
  // Over all validation pairs: per target word, including ends of sentence, and per sentence, as in
  // training.
  double perplexity = 0, loss = 0;
  std::string sample_source, sample_answer, sample_reference;  // one pair to show
};

struct QualityOptions {
  std::size_t batch_size = 100;
  std::size_t pairs = 1000;  // most pairs to translate for BLEU
  std::size_t sample = 0;    // pair to show, modulo the number translated
  TranslatorOptions translator = {};
  StepShares shares = {};  // how processes divide the batches
};

// Computes the perplexity over all validation pairs and the BLEU over the first ones. Leaves the
// random stream unchanged. Opens no step; its requests belong to the caller's step, if there is
// one. Throws what `progress` throws.
TranslationQuality translation_quality(Context& context, const Seq2Seq& model,
                                       const TranslationData& data, const QualityOptions& options,
                                       const EvaluationProgress& progress = {});

}  // namespace skyline
