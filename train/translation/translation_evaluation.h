#pragma once

#include <cstdint>
#include <string>

#include "framework/context.h"
#include "models/seq2seq.h"
#include "train/run/evaluation.h"
#include "train/translation/bleu.h"
#include "train/translation/translation_data.h"
#include "train/translation/translator.h"

namespace skyline {

// How well a model translates.
struct TranslationQuality {
  Bleu bleu;              // of the first pairs
  double perplexity = 0;  // a target word, end of sentence included; of all validation pairs
  std::string sample_source, sample_answer, sample_reference;  // of one pair, for the reader
};

struct QualityOptions {
  std::size_t batch_size = 100;
  std::size_t pairs = 1000;  // so many are translated for BLEU, at most
  std::size_t sample = 0;    // the pair to show, modulo those translated
  TranslatorOptions translator = {};
};

// Computes the perplexity over all validation pairs and the BLEU of the first ones. Leaves the
// random stream as it was. Memory comes from whatever step is open, or from none. Throws what
// `progress` throws.
TranslationQuality translation_quality(Context& context, const Seq2Seq& model,
                                       const TranslationData& data, const QualityOptions& options,
                                       const EvaluationProgress& progress = {});

}  // namespace skyline
