#include "train/translation/translation_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/run/step_scope.h"
#include "train/translation/translation_step.h"

namespace skyline {
namespace {

std::vector<std::size_t> indices(std::size_t first, std::size_t last) {
  std::vector<std::size_t> pairs(last - first);
  std::iota(pairs.begin(), pairs.end(), first);
  return pairs;
}

std::vector<std::vector<std::int32_t>> sources(const SentencePairs& pairs, std::size_t first,
                                               std::size_t last) {
  std::vector<std::vector<std::int32_t>> sentences;
  for (std::size_t i = first; i < last; ++i) {
    sentences.emplace_back(pairs.source[i].begin(), pairs.source[i].end());
  }
  return sentences;
}

// Reports an evaluation's progress, counting the pairs of both passes together.
class Passes {
 public:
  Passes(const EvaluationProgress& progress, std::size_t total)
      : progress_(progress), total_(total) {}
  void add(std::size_t pairs) {
    done_ += pairs;
    if (progress_) progress_(done_, total_);
  }

 private:
  const EvaluationProgress& progress_;
  std::size_t done_ = 0, total_;
};

// Sets perplexity and loss.
void add_losses(TranslationQuality& quality, Context& context, const Seq2Seq& model,
                const SentencePairs& pairs, std::size_t batch_size, Passes& passes) {
  const ModeScope mode(context, Mode::kInference);
  double loss_sum = 0, words = 0;
  for (std::size_t first = 0; first < pairs.source.size(); first += batch_size) {
    const PairBatch batch =
        make_pair_batch(pairs, indices(first, std::min(first + batch_size, pairs.source.size())));
    float loss = 0;
    context.download(translation_loss(context, model, batch), &loss);
    // The loss is a mean over sentences, the perplexity one over words.
    loss_sum += double{loss} * static_cast<double>(batch.size());
    words += static_cast<double>(batch.target_out.size());
    passes.add(batch.size());
  }
  quality.perplexity = std::exp(loss_sum / words);
  quality.loss = loss_sum / static_cast<double>(pairs.source.size());
}

}  // namespace

TranslationQuality translation_quality(Context& context, const Seq2Seq& model,
                                       const TranslationData& data, const QualityOptions& options,
                                       const EvaluationProgress& progress) {
  const RandomScope random(context);
  const std::size_t translated = std::min(options.pairs, data.val.source.size());
  Passes passes(progress, data.val.source.size() + translated);
  TranslationQuality quality;
  add_losses(quality, context, model, data.val, options.batch_size, passes);
  for (std::size_t first = 0; first < translated; first += options.batch_size) {
    const std::size_t last = std::min(first + options.batch_size, translated);
    const auto answers =
        translate(context, model, pack_source(sources(data.val, first, last)), options.translator);
    for (std::size_t i = first; i < last; ++i) {
      const auto words = data.vocabularies.target.decode(answers[i - first]);
      quality.bleu.add(words, data.references[i]);
      if (i != options.sample % translated) continue;
      quality.sample_source = detokenize(data.vocabularies.source.decode(data.val.source[i]));
      quality.sample_answer = detokenize(words);
      quality.sample_reference = detokenize(data.references[i]);
    }
    passes.add(last - first);
  }
  return quality;
}

}  // namespace skyline
