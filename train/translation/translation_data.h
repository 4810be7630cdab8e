#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/pair_loader.h"
#include "data/text/parallel_text.h"
#include "data/text/vocabulary.h"
#include "train/checkpoints/checkpoint.h"
#include "train/options/text_options.h"

namespace skyline {

// The vocabularies of both languages.
struct Vocabularies {
  Vocabulary source, target;

  // "402 words, crc32 89abcdef; 500 words, crc32 …": kept in checkpoints.
  std::string fingerprint() const;
  // source.vocabulary.txt and target.vocabulary.txt of a run folder.
  void save(const std::filesystem::path& run) const;
  static Vocabularies open(const std::filesystem::path& run);
};

// Throws CheckpointError if `vocabularies` differ from those that the checkpoint that stored this
// was trained with. `origin`, for the message, is the folder or text that they come from.
void check_vocabularies(const Vocabularies& vocabularies, const std::string& origin,
                        const StoredJson& stored);

struct TranslationData;
// Stores the facts about `data` in TrainingPosition::data.
void store_data(const TranslationData& data, StoredJson& stored);
// Throws DataError if the numbers of pairs are not those of the checkpoint's training, as far as it
// knows them, and as check_vocabularies() does.
void check_data(const TranslationData& data, const StoredJson& stored);

// Sentence pairs to train on and to validate with.
struct TranslationData {
  std::string name;
  SentencePairs train, val;
  struct Lines {
    LineList source, target;
  };
  Lines val_lines;     // the validation's pairs as they were read
  bool lower = false;  // the network's text is in lower case
  Vocabularies vocabularies;
  TextSummary train_summary;
  std::optional<TextSummary> val_summary;  // empty if pairs were held out of the training text
  std::vector<std::string> notes;          // how the two texts overlap
};

// Returns which pairs are held out to validate with, about one in 20: pair 19, 39, …, each with all
// pairs that have the same source, for which later ones are passed over. A source that more than a
// tenth of the pairs have is never held out. Nothing is if this leaves less than half as many.
std::vector<bool> held_out(std::span<const std::string_view> sources);

// Reads, tokenizes and encodes. `data` is "numbers" or a tab-separated file, unless the options
// name files of lines; the generator draws `pairs` and `val_pairs`. Uses the given vocabularies, or
// makes them from the training pairs. Throws UsageError if there are no such data, and DataError as
// the readers do and if nothing is left.
TranslationData open_translation_data(const TextOptions& options, const std::string& data,
                                      std::uint64_t seed,
                                      std::optional<Vocabularies> vocabularies = std::nullopt);

}  // namespace skyline
