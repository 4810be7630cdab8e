#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/seq2seq.h"

namespace skyline {

class OptionList;
struct GptShape;

// Input and size of a model of text, for translation or to go on with it. Pairs of sentences come
// from the generator `numbers` or one tab-separated file, both given by --data, or from pairs of
// files of lines, which are read as one text. A text to go on with comes from the generator `sums`
// or a file, given by --data, or from numbers of words.
//
// Each model has its own defaults of the optional members.
struct TextOptions {
  std::int64_t pairs = 50'000;              // of the generator
  std::vector<std::string> source, target;  // files of lines, one target per source; empty: --data
  std::string val_data;                     // tab-separated file to validate on
  // Or pairs of files. If there is neither, every 20th pair is held out.
  std::vector<std::string> val_source, val_target;
  bool lower = false;
  std::int64_t max_words = 50;  // per training sentence, on both sides; validation is not cut
  std::optional<std::int64_t> vocab_size;  // most frequent words per side; seq2seq: 40,000
  bool bucket = false;                     // batches of sentences of similar length
  bool strict = false;                     // the first faulty line ends the run

  std::optional<std::int64_t> layers, units;  // seq2seq: 2 and 256
  std::int64_t embedding = 0;                 // 0: units
  std::optional<double> dropout;              // seq2seq: 0.1
  bool unroll = false;
  bool paper = false;          // PGMO's size instead of layers, units and embedding
  std::optional<double> clip;  // largest norm of the gradients; 0: no limit; unset: 5, fused 0

  std::int64_t val_pairs = 1000;     // most pairs to translate for BLEU
  std::int64_t translate_words = 0;  // of compare --translate

  // Options of models that go on with a text:
  std::string tokens;                  // file of words as numbers; empty: --data
  std::int64_t characters = 200'000;   // of the generator
  std::optional<std::int64_t> length;  // words of a window; unset: the model's most
  std::optional<std::int64_t> heads;   // unset: the model's
  bool biases = false;                 // also of a model that has none

  bool operator==(const TextOptions&) const = default;
};

inline constexpr std::int64_t kSeq2SeqWords = 40'000;  // of each side

// The options of networks, and --vocab-size.
void add_text_network_options(OptionList& list, TextOptions& options);
// All options of text.
void add_text_options(OptionList& list, TextOptions& options);

// Returns `options` with absolute paths. Throws UsageError that names a file without its partner.
TextOptions resolved(TextOptions options);

Seq2SeqShape seq2seq_shape(const TextOptions& options, std::int64_t source_words,
                           std::int64_t target_words);

// Returns the shape of the gpt of this name, with at least as many positions as a window has words,
// and `words` words; 0: --vocab-size or the model's.
GptShape gpt_shape(std::string_view model, const TextOptions& options, std::int64_t words = 0);
// Returns the words of a window.
std::int64_t window_length(std::string_view model, const TextOptions& options);

}  // namespace skyline
