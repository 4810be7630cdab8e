#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "framework/context.h"
#include "models/seq2seq.h"
#include "train/run/evaluation.h"
#include "train/run/step_shares.h"
#include "train/translation/translation_data.h"
#include "train/translation/translator.h"

namespace skyline {

enum class BleuSmoothing {
  kNone,    // an order without a match makes the score 0
  kAddOne,  // one more match and one more n-gram for n of 2 to 4 (Lin and Och, "ORANGE", 2004)
};

// Corpus BLEU of up to 4-grams with one reference per sentence (Papineni, Roukos, Ward, Zhu, "BLEU:
// a Method for Automatic Evaluation of Machine Translation", 2002): the geometric mean of the
// clipped precisions, times the brevity penalty exp(1 − r / c) if the answers have fewer words, c,
// than the references, r. The caller tokenizes.
class Bleu {
 public:
  static constexpr std::size_t kMostWords = 4;  // longest n-gram

  // Adds one sentence to the counts.
  void add(std::span<const std::string> answer, std::span<const std::string> reference);

  // In [0, 100]; 0 before any sentence. Without smoothing, also 0 if some order has no match, as in
  // a corpus of sentences below four words.
  double score(BleuSmoothing smoothing = BleuSmoothing::kNone) const;
  double brevity_penalty() const;  // in [0, 1]
  // Clipped matches / all n-grams of `order` words, 1 to 4; 0 / 0 is 0.
  double precision(std::size_t order) const;
  // The share of sentences answered word for word, in [0, 1].
  double exact_match() const;

  std::uint64_t sentences() const noexcept { return sentences_; }
  std::uint64_t answer_words() const noexcept { return answer_words_; }
  std::uint64_t reference_words() const noexcept { return reference_words_; }

  // "BLEU 31.42 (62.1/38.0/25.3/17.2, brevity 0.981, 1000 sentences)", followed by the smoothing
  // method if one is used.
  std::string text(BleuSmoothing smoothing = BleuSmoothing::kNone) const;

 private:
  std::uint64_t sentences_ = 0, exact_ = 0;
  std::uint64_t answer_words_ = 0, reference_words_ = 0;
  std::array<std::uint64_t, kMostWords> matches_{}, ngrams_{};  // [n - 1]
};

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
