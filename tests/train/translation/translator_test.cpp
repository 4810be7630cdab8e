#include "train/translation/translator.h"

#include <gtest/gtest.h>

#include "framework/ops/loss/softmax.h"
#include "tests/train/translation/small_translation.h"
#include "train/run/step_scope.h"
#include "train/translation/translation_evaluation.h"

namespace skyline {
namespace {

using namespace skyline::tests;

using Ids = std::vector<std::int32_t>;

class TranslatorTest : public ::testing::Test {
 protected:
  static Seq2SeqShape shape(const TranslationData& data) {
    Seq2SeqShape shape = small_seq2seq(data);
    shape.dropout = 0;
    return shape;
  }
  std::vector<Ids> sources(std::size_t count) const {
    std::vector<Ids> sentences;
    for (std::size_t i = 0; i < count; ++i) {
      const auto words = data_.train.source[i];
      sentences.emplace_back(words.begin(), words.end());
    }
    return sentences;
  }
  // Returns log P(answer, end of sentence | source), word by word, from a training batch.
  double log_probability(const Ids& source, const Ids& answer) {
    SentencePairs pair;
    pair.source.push_back(source);
    pair.target.push_back(answer);
    const std::size_t index = 0;
    const ModeScope mode(experiment_.context, Mode::kInference);
    float loss = 0;
    experiment_.context.download(translation_loss(experiment_.context, experiment_.model,
                                                  make_pair_batch(pair, {&index, 1})),
                                 &loss);
    return -double{loss};
  }

  TranslationData data_ = small_text();
  TranslationRun experiment_{{}, {.seed = 11}, small_run(shape(data_))};
};

TEST_F(TranslatorTest, ASentenceIsTranslatedAloneAsAmongOthers) {
  run_steps(experiment_, small_pair_batches(data_, 30));
  const auto sentences = sources(7);
  for (const std::int64_t beam : {1, 3}) {
    const TranslatorOptions options{.max_words = 12, .beam = beam};
    const auto together =
        translate(experiment_.context, experiment_.model, pack_source(sentences), options);
    ASSERT_EQ(together.size(), sentences.size());
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      EXPECT_EQ(
          translate(experiment_.context, experiment_.model, pack_source({sentences[i]}), options),
          std::vector<Ids>{together[i]});
    }
  }
}

TEST_F(TranslatorTest, StopsAtMostWordsAndCutsAtTheEndOfSentence) {
  const auto sentences = sources(4);
  for (const bool stop : {false, true}) {
    const auto answers = translate(experiment_.context, experiment_.model, pack_source(sentences),
                                   {.max_words = 5, .stop_at_end = stop});
    for (const Ids& answer : answers) {
      EXPECT_LE(answer.size(), 5u);
      EXPECT_EQ(std::ranges::find(answer, kEndOfSentence), answer.end());
    }
  }
}

// With answers of two words, a beam as wide as the vocabulary squared holds all hypotheses. The
// search must find the best; the training loss scores each of them.
TEST_F(TranslatorTest, AWideBeamFindsTheBestAnswer) {
  run_steps(experiment_, small_pair_batches(data_, 10));
  const Ids source = sources(1).front();
  const auto words = static_cast<std::int32_t>(data_.vocabularies.target.size());
  Ids best;
  double best_score = -1e9;
  for (std::int32_t word = 0; word < words; ++word) {
    if (word == kEndOfSentence) continue;
    const double score = log_probability(source, {word}) / 2;  // two words with the end
    if (score > best_score) {
      best_score = score;
      best = {word};
    }
  }
  const auto answer = translate(experiment_.context, experiment_.model, pack_source({source}),
                                {.max_words = 2, .beam = words, .length_penalty = 1});
  const Ids found = answer[0];
  if (found.empty()) return;  // the empty answer was the likeliest
  EXPECT_GE(log_probability(source, found) / 2, best_score - 1e-4);
}

TEST_F(TranslatorTest, EvaluationLeavesTrainingAsItWas) {
  TranslationRun undisturbed({}, {.seed = 11}, small_run(small_seq2seq(data_)));
  TranslationRun evaluated({}, {.seed = 11}, small_run(small_seq2seq(data_)));
  const auto batches = small_pair_batches(data_, 2);
  run_steps(undisturbed, batches);
  const TranslationQuality quality = translation_quality(
      evaluated.context, evaluated.model, data_, {.batch_size = 8, .pairs = 10, .sample = 0});
  EXPECT_GT(quality.perplexity, 1);
  EXPECT_EQ(quality.bleu.sentences(), 10u);
  run_steps(evaluated, batches);
  EXPECT_EQ(parameters_sha256(evaluated), parameters_sha256(undisturbed));
}

}  // namespace
}  // namespace skyline
