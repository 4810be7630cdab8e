#include "train/translation/translation_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "train/run/step_scope.h"
#include "train/translation/translation_step.h"

namespace skyline {
namespace {

using Words = std::span<const std::string>;
using Ngram = std::array<std::uint32_t, Bleu::kMostWords>;  // ids from 1; unused places are 0
using NgramIds = std::unordered_map<std::string_view, std::uint32_t>;

std::vector<std::uint32_t> ids_of(Words words, NgramIds& ids) {
  std::vector<std::uint32_t> sentence;
  for (const std::string& word : words) {
    const auto next = static_cast<std::uint32_t>(ids.size() + 1);
    sentence.push_back(ids.emplace(word, next).first->second);
  }
  return sentence;
}

std::vector<Ngram> sorted_ngrams(std::span<const std::uint32_t> sentence, std::size_t order) {
  std::vector<Ngram> ngrams;
  for (std::size_t i = 0; i + order <= sentence.size(); ++i) {
    std::ranges::copy(sentence.subspan(i, order), ngrams.emplace_back(Ngram{}).begin());
  }
  std::ranges::sort(ngrams);
  return ngrams;
}

// Returns the size of the multiset intersection: an n-gram counts as often as in the side that has
// it less often.
std::uint64_t clipped_matches(const std::vector<Ngram>& answer,
                              const std::vector<Ngram>& reference) {
  std::vector<Ngram> matches;
  std::ranges::set_intersection(answer, reference, std::back_inserter(matches));
  return matches.size();
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

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
          quality.bleu.add(words, data.references[i]);
          if (i != options.sample % translated) continue;
          quality.sample_source = detokenize(data.vocabularies.source.decode(data.val.source[i]));
          quality.sample_answer = detokenize(words);
          quality.sample_reference = detokenize(data.references[i]);
        }
        passes.add(cut.end(batch) - cut.first(batch));
      });
}

}  // namespace

void Bleu::add(Words answer, Words reference) {
  NgramIds ids;
  const auto answer_ids = ids_of(answer, ids), reference_ids = ids_of(reference, ids);
  for (std::size_t order = 1; order <= kMostWords; ++order) {
    const auto ngrams = sorted_ngrams(answer_ids, order);
    ngrams_[order - 1] += ngrams.size();
    matches_[order - 1] += clipped_matches(ngrams, sorted_ngrams(reference_ids, order));
  }
  answer_words_ += answer.size();
  reference_words_ += reference.size();
  ++sentences_;
  if (answer_ids == reference_ids) ++exact_;
}

double Bleu::precision(std::size_t order) const {
  return share(matches_.at(order - 1), ngrams_.at(order - 1));
}

double Bleu::brevity_penalty() const {
  if (answer_words_ >= reference_words_) return 1;
  if (answer_words_ == 0) return 0;
  return std::exp(1 - static_cast<double>(reference_words_) / static_cast<double>(answer_words_));
}

double Bleu::exact_match() const { return share(exact_, sentences_); }

double Bleu::score(BleuSmoothing smoothing) const {
  double logarithms = 0;
  for (std::size_t n = 0; n < kMostWords; ++n) {
    const std::uint64_t more = smoothing == BleuSmoothing::kAddOne && n > 0 ? 1 : 0;
    const double precision = share(matches_[n] + more, ngrams_[n] + more);
    if (precision == 0) return 0;
    logarithms += std::log(precision);
  }
  return 100 * brevity_penalty() * std::exp(logarithms / kMostWords);
}

std::string Bleu::text(BleuSmoothing smoothing) const {
  return fmt::format("BLEU {:.2f} ({:.1f}/{:.1f}/{:.1f}/{:.1f}, brevity {:.3f}, {} sentences{})",
                     score(smoothing), 100 * precision(1), 100 * precision(2), 100 * precision(3),
                     100 * precision(4), brevity_penalty(), sentences_,
                     smoothing == BleuSmoothing::kAddOne ? ", add-one smoothing for n > 1" : "");
}

TranslationQuality translation_quality(Context& context, const Seq2Seq& model,
                                       const TranslationData& data, const QualityOptions& options,
                                       const EvaluationProgress& progress) {
  const RandomScope random(context);
  const std::size_t translated = std::min(options.pairs, data.val.source.size());
  Passes passes(progress, data.val.source.size() + translated);
  TranslationQuality quality;
  add_losses(quality, context, model, data.val, options, passes);
  add_translations(quality, context, model, data, options, translated, passes);
  return quality;
}

}  // namespace skyline
