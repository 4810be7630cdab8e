#pragma once

#include <string>
#include <vector>

#include "framework/philox.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/options/train_options.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"

// A small translation model, and batches of numbers in words, each with another shape.
namespace skyline::tests {

inline TranslationData small_text(std::int64_t pairs = 96) {
  TextOptions options;
  options.pairs = pairs;
  options.val_pairs = 20;
  return open_translation_data(options, "numbers", 3);
}

inline Seq2SeqShape small_seq2seq(const TranslationData& data, bool unroll = false) {
  return {.source_words = static_cast<std::int64_t>(data.vocabularies.source.size()),
          .target_words = static_cast<std::int64_t>(data.vocabularies.target.size()),
          .layers = 2,
          .units = 16,
          .embedding = 12,
          .dropout = 0.2f,
          .unroll = unroll};
}

inline std::vector<PairBatch> small_pair_batches(const TranslationData& data, std::size_t count,
                                                 std::size_t batch_size = 6) {
  PairLoader loader(data.train, {.batch_size = batch_size}, Philox{4});
  std::vector<PairBatch> batches;
  for (std::size_t i = 0; i < count; ++i) batches.push_back(loader.next());
  return batches;
}

inline TranslationRunOptions small_run(const Seq2SeqShape& shape, const MemoryWatch& watch = {}) {
  return {.shape = shape, .optimizer = {.name = "adam", .clip = 5}, .watch = watch};
}

// Runs steps over `batches`; returns their losses.
inline std::vector<float> run_steps(TranslationRun& experiment,
                                    const std::vector<PairBatch>& batches) {
  std::vector<float> losses;
  for (const PairBatch& batch : batches) {
    losses.push_back(
        experiment.train_step(batch, {.learning_rate = 1e-3f, .step = std::ssize(losses) + 1}));
  }
  return losses;
}

inline std::string parameters_sha256(ModelRun& run) {
  return tensors_sha256(run.context, values_of(run.network().parameters()));
}

}  // namespace skyline::tests
