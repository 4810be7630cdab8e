#pragma once

#include <cstdint>
#include <string>

#include "framework/context.h"
#include "models/seq2seq.h"
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

// Validation pairs in batches of `batch_size`: perplexity over all of them, BLEU of the first
// `pairs`; the sample is the pair number `sample` modulo those translated. Leaves the random stream
// as it was. Memory comes from whatever step is open, or from none.
TranslationQuality translation_quality(Context& context, const Seq2Seq& model,
                                       const TranslationData& data, std::size_t batch_size,
                                       std::size_t pairs, std::size_t sample,
                                       const TranslatorOptions& options = {});

}  // namespace skyline
