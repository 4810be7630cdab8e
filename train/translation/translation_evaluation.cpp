#include "train/translation/translation_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/text/tokenizer.h"
#include "train/run/step_scope.h"
#include "train/translation/translation_run.h"

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

// `size` pairs in batches of at most `batch_size`.
struct Cut {
  std::size_t size, batch_size;
  std::size_t batches() const { return (size + batch_size - 1) / batch_size; }
  std::size_t first(std::size_t batch) const { return batch * batch_size; }
  std::size_t end(std::size_t batch) const { return std::min(first(batch + 1), size); }
};

// Of a batch.
struct Losses {
  double sum = 0, words = 0;
};

// Sets perplexity and loss.
void add_losses(TranslationQuality& quality, Context& context, const Seq2Seq& model,
                const SentencePairs& pairs, const QualityOptions& options, Passes& passes) {
  const ModeScope mode(context, Mode::kInference);
  const Cut cut{pairs.source.size(), options.batch_size};
  Losses all;
  for_each_batch(
      options.shares, cut.batches(),
      [&](std::size_t number) {
        const PairBatch batch = make_pair_batch(pairs, indices(cut.first(number), cut.end(number)));
        float loss = 0;
        context.download(translation_loss(context, model, batch), &loss);
        // The loss is a mean over sentences, the perplexity one over words.
        return bytes_of(Losses{.sum = double{loss} * static_cast<double>(batch.size()),
                               .words = static_cast<double>(batch.target_out.size())});
      },
      [&](std::size_t number, const std::string& result) {
        const auto losses = from_bytes<Losses>(result);
        all.sum += losses.sum;
        all.words += losses.words;
        passes.add(cut.end(number) - cut.first(number));
      });
  quality.perplexity = std::exp(all.sum / all.words);
  quality.loss = all.sum / static_cast<double>(pairs.source.size());
}

// Sentences of word ids as bytes, each after its length, and back.
std::string packed(const std::vector<std::vector<std::int32_t>>& sentences) {
  std::string bytes;
  for (const std::vector<std::int32_t>& words : sentences) {
    bytes += bytes_of(words.size());
    bytes.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::int32_t));
  }
  return bytes;
}

std::vector<std::vector<std::int32_t>> sentences_from(const std::string& bytes) {
  std::vector<std::vector<std::int32_t>> sentences;
  for (std::size_t at = 0; at < bytes.size();) {
    sentences.emplace_back(from_bytes<std::size_t>(bytes.substr(at, sizeof(std::size_t))));
    at += sizeof(std::size_t);
    const std::size_t size = sentences.back().size() * sizeof(std::int32_t);
    bytes.copy(reinterpret_cast<char*>(sentences.back().data()), size, at);
    at += size;
  }
  return sentences;
}

// Adds BLEU over the first `translated` pairs, and the sample.
void add_translations(TranslationQuality& quality, Context& context, const Seq2Seq& model,
                      const TranslationData& data, const QualityOptions& options,
                      std::size_t translated, Passes& passes) {
  const Cut cut{translated, options.batch_size};
  for_each_batch(
      options.shares, cut.batches(),
      [&](std::size_t batch) {
        const auto batch_sources = sources(data.val, cut.first(batch), cut.end(batch));
        return packed(translate(context, model, pack_source(batch_sources), options.translator));
      },
      [&](std::size_t batch, const std::string& result) {
        const auto answers = sentences_from(result);
        for (std::size_t i = cut.first(batch); i < cut.end(batch); ++i) {
          const auto words = data.vocabularies.target.decode(answers[i - cut.first(batch)]);
          const std::string_view source = data.val_lines.source[i],
                                 reference = data.val_lines.target[i];
          const std::string answer = with_digits_of(source, detokenize(words));
          quality.bleu.add(answer, reference);
          if (i != options.sample % translated) continue;
          quality.sample_source = source;
          quality.sample_answer = answer;
          quality.sample_reference = reference;
        }
        passes.add(cut.end(batch) - cut.first(batch));
      });
}

}  // namespace

TranslationQuality translation_quality(Context& context, const Seq2Seq& model,
                                       const TranslationData& data, const QualityOptions& options,
                                       const EvaluationProgress& progress) {
  const RandomScope random(context);
  const std::size_t translated = std::min(options.pairs, data.val.source.size());
  Passes passes(progress, data.val.source.size() + translated);
  TranslationQuality quality{.bleu = Bleu(data.lower)};
  add_losses(quality, context, model, data.val, options, passes);
  add_translations(quality, context, model, data, options, translated, passes);
  return quality;
}

}  // namespace skyline
