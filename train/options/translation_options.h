#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/seq2seq.h"
#include "train/translation/translator.h"

namespace CLI {
class App;
}  // namespace CLI

namespace skyline {

// What a translation model reads and how large it is. Sentences come from the generator `numbers`,
// from one tab-separated file (both given by --data), or from pairs of files of lines, which follow
// each other as one text.
struct TranslationOptions {
  std::int64_t pairs = 50'000;              // of the generator
  std::vector<std::string> source, target;  // files of lines, as many of each; empty: --data
  std::string val_data;                     // a tab-separated file to validate on
  // Or pairs of files; all empty: every 20th pair is kept apart.
  std::vector<std::string> val_source, val_target;
  bool lower = false;
  std::int64_t max_words = 50;       // of a training sentence, both sides; validation is not cut
  std::int64_t vocab_size = 40'000;  // most frequent words a side
  bool bucket = false;               // batches of sentences about as long as each other
  bool strict = false;               // the first faulty line ends the run

  std::int64_t layers = 2;
  std::int64_t units = 256;
  std::int64_t embedding = 0;  // 0: units
  double dropout = 0.1;
  bool unroll = false;
  double clip = 5;  // largest norm of the gradients; 0: no limit

  std::int64_t translate_every = 0;  // steps between sample translations; 0: each epoch
  std::int64_t val_pairs = 1000;     // at most so many are translated for BLEU

  bool operator==(const TranslationOptions&) const = default;
};

void add_translation_options(CLI::App& app, TranslationOptions& options);

// The values under the names of their flags.
void write_translation_options(const TranslationOptions& options, nlohmann::ordered_json& json);
// Values that are missing, as in runs of images, keep their defaults. Throws nlohmann's exceptions.
TranslationOptions read_translation_options(const nlohmann::ordered_json& json);

// Files by their whole paths, so that a run can be taken up from anywhere. Throws UsageError when a
// file lacks its partner, naming it.
void resolve(TranslationOptions& options);

Seq2SeqShape seq2seq_shape(const TranslationOptions& options, std::int64_t source_words,
                           std::int64_t target_words);

}  // namespace skyline
