#include "train/translation/translation_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "data/host.h"
#include "data/text/numbers.h"
#include "framework/philox.h"
#include "train/checkpoints/files.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

constexpr std::size_t kKeptApart = 20;  // one of so many pairs is held out to validate
constexpr std::size_t kMostAlike = 10;  // pairs with one source are, if they are one in so many

using Json = nlohmann::ordered_json;

// Keys in TrainingPosition::data.
constexpr const char* kVocabularies = "vocabularies";
constexpr const char* kPairs = "pairs";  // numbers of training and validation pairs

constexpr const char* kSourceFile = "source.vocabulary.txt";
constexpr const char* kTargetFile = "target.vocabulary.txt";

struct Texts {
  ParallelText train;
  std::optional<ParallelText> val;
};

[[noreturn]] void refuse(const std::string& data) {
  const std::vector<std::string> generators = {"numbers"};
  if (data.find('/') == std::string::npos && nearest(data, generators)) {
    throw UsageError(unknown_name("text", data, generators));
  }
  throw UsageError("no text '" + data +
                   "': neither a generator (numbers) nor a tab-separated file; files of lines are "
                   "given by --source and --target");
}

ParallelTextOptions reader_options(const TextOptions& options, bool training) {
  ParallelTextOptions reader{.strict = options.strict, .tokenizer = {.lower = options.lower}};
  reader.most_words =
      training ? static_cast<std::size_t>(options.max_words) : ParallelTextOptions::kUnlimited;
  return reader;
}

std::vector<TextFiles> partners(const std::vector<std::string>& sources,
                                const std::vector<std::string>& targets) {
  std::vector<TextFiles> files;
  for (std::size_t i = 0; i < sources.size(); ++i) files.push_back({sources[i], targets[i]});
  return files;
}

Texts read_texts(const TextOptions& options, const std::string& data, std::uint64_t seed) {
  Texts texts;
  auto val_options = reader_options(options, false);
  val_options.keep_lines = true;
  auto train_options = reader_options(options, true);
  train_options.keep_lines = options.val_source.empty() && options.val_data.empty();
  if (!options.val_source.empty()) {
    texts.val = read_text_files(partners(options.val_source, options.val_target), val_options);
  } else if (!options.val_data.empty()) {
    texts.val = read_parallel_text(ByteReader::open(options.val_data), {}, val_options);
  }
  if (!options.source.empty()) {
    texts.train = read_text_files(partners(options.source, options.target), train_options);
  } else if (data == "numbers") {
    texts.train =
        numbers_text(static_cast<std::size_t>(options.pairs), Split::kTrain, Philox{seed});
    if (!texts.val) {
      texts.val =
          numbers_text(static_cast<std::size_t>(options.val_pairs), Split::kTest, Philox{seed});
    }
  } else if (std::filesystem::is_regular_file(data)) {
    texts.train = read_parallel_text(ByteReader::open(data), {}, train_options);
  } else {
    refuse(data);
  }
  return texts;
}

// Adds the pairs i of `text` for which chosen(i) is true.
template <typename Chosen>
void add_pairs(const ParallelText& text, const Vocabularies& vocabularies, const Chosen& chosen,
               SentencePairs& pairs, TranslationData::Lines* lines) {
  const SentenceList source = vocabularies.source.encode(text.source);
  const SentenceList target = vocabularies.target.encode(text.target);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!chosen(i)) continue;
    pairs.source.push_back(source[i]);
    pairs.target.push_back(target[i]);
    if (lines == nullptr) continue;
    lines->source.push_back(text.source_lines[i]);
    lines->target.push_back(text.target_lines[i]);
  }
}

// The bytes of a sentence, to compare it with others.
std::string_view key_of(std::span<const std::int32_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

// Holds pairs out of the training text, and says how many. Words are without their digits, so lists
// of numbers may have few different sentences; then different lines will do.
std::vector<bool> chosen_to_validate(const ParallelText& text, std::vector<std::string>& notes) {
  std::vector<std::string_view> sentences, lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    sentences.push_back(key_of(text.source.sentences[i]));
    lines.push_back(text.source_lines[i]);
  }
  std::string_view how = "no source of theirs is in the training text";
  std::vector<bool> held = held_out(sentences);
  const auto none = [&] { return std::ranges::find(held, true) == held.end(); };
  if (none()) {
    held = held_out(lines);
    how = "their sources differ from those of the training text in digits alone";
  }
  if (none()) {
    for (std::size_t i = kKeptApart - 1; i < held.size(); i += kKeptApart) held[i] = true;
    how = "their sources are in the training text, too, as a few sources are all";
  }
  if (none()) return held;
  notes.push_back(fmt::format("held out {} of {} pairs to validate: {}",
                              std::ranges::count(held, true), held.size(), how));
  return held;
}

// Says how many sources of the validation were read in training.
void note_overlap(const Texts& texts, std::vector<std::string>& notes) {
  const TokenizedText &train = texts.train.source, &val = texts.val->source;
  std::unordered_map<std::string_view, std::size_t> not_seen;  // pairs of each source
  for (std::size_t i = 0; i < val.sentences.size(); ++i) ++not_seen[key_of(val.sentences[i])];
  std::unordered_map<std::string_view, std::int32_t> words_of_val;
  for (const std::string& word : val.words) {
    words_of_val.emplace(word, static_cast<std::int32_t>(words_of_val.size()));
  }
  std::size_t seen = 0;
  std::vector<std::int32_t> sentence;
  for (std::size_t i = 0; i < train.sentences.size(); ++i) {
    sentence.clear();
    for (const std::int32_t type : train.sentences[i]) {
      const auto word = words_of_val.find(train.words[static_cast<std::size_t>(type)]);
      sentence.push_back(word == words_of_val.end() ? -1 : word->second);
    }
    if (const auto found = not_seen.extract(key_of(sentence))) seen += found.mapped();
  }
  if (seen == 0) return;
  notes.push_back(
      fmt::format("{} of {} validation pairs have a source that is in the training text", seen,
                  val.sentences.size()));
}

std::string name_of(const TextOptions& options, const std::string& data) {
  const auto file_name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  if (options.source.empty()) return file_name(data);
  const std::size_t more = options.source.size() - 1;
  const std::string first = file_name(options.source.front());
  return more == 0 ? first : first + " and " + std::to_string(more) + " more";
}

}  // namespace

std::string Vocabularies::fingerprint() const {
  return source.fingerprint() + "; " + target.fingerprint();
}

void Vocabularies::save(const std::filesystem::path& run) const {
  write_atomically(run / kSourceFile, source.file_text());
  write_atomically(run / kTargetFile, target.file_text());
}

Vocabularies Vocabularies::open(const std::filesystem::path& run) {
  return {Vocabulary::open(run / kSourceFile), Vocabulary::open(run / kTargetFile)};
}

void check_vocabularies(const Vocabularies& vocabularies, const std::string& origin,
                        const StoredJson& stored) {
  const std::string trained = stored->value(kVocabularies, std::string());
  if (vocabularies.fingerprint() == trained) return;
  const bool of_source = !trained.starts_with(vocabularies.source.fingerprint() + ";");
  throw CheckpointError(fmt::format(
      "[{}] the {}'s vocabulary is not the one that the checkpoint was trained with: source and "
      "target have {}, expected {}",
      origin, of_source ? "source" : "target", vocabularies.fingerprint(), trained));
}

void store_data(const TranslationData& data, StoredJson& stored) {
  (*stored)[kVocabularies] = data.vocabularies.fingerprint();
  (*stored)[kPairs] = {data.train.source.size(), data.val.source.size()};
}

void check_data(const TranslationData& data, const StoredJson& stored) {
  const Json& facts = *stored;
  if (facts.contains(kPairs)) {
    const auto require = [&](const SentencePairs& pairs, const char* what, std::size_t split) {
      const std::size_t got = pairs.source.size();
      const auto trained = facts[kPairs].at(split).get<std::size_t>();
      if (got == trained) return;
      throw DataError(data.name, what, std::to_string(got),
                      std::to_string(trained) + ", as in training");
    };
    try {
      require(data.train, "training pairs", 0);
      require(data.val, "validation pairs", 1);
    } catch (const Json::exception& error) {
      throw CheckpointError(
          fmt::format("the checkpoint's numbers of pairs are damaged: {}", error.what()));
    }
  }
  check_vocabularies(data.vocabularies, data.name, stored);
}

std::vector<bool> held_out(std::span<const std::string_view> sources) {
  std::unordered_map<std::string_view, std::size_t> groups;  // of pairs with equal sources
  std::vector<std::size_t> group_of, sizes;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    group_of.push_back(groups.emplace(sources[i], sizes.size()).first->second);
    sizes.resize(groups.size());
    ++sizes[group_of.back()];
  }
  const std::size_t most = std::max<std::size_t>(sources.size() / kMostAlike, 1);
  std::vector<bool> chosen(groups.size(), false), held;
  std::size_t count = 0;
  for (std::size_t i = kKeptApart - 1; i < sources.size(); ++i) {
    const std::size_t group = group_of[i];
    if (count >= (i + 1) / kKeptApart || chosen[group] || sizes[group] > most) continue;
    chosen[group] = true;
    count += sizes[group];
  }
  if (2 * count < sources.size() / kKeptApart) chosen.assign(groups.size(), false);
  for (const std::size_t group : group_of) held.push_back(chosen[group]);
  return held;
}

TranslationData open_translation_data(const TextOptions& options, const std::string& data,
                                      std::uint64_t seed,
                                      std::optional<Vocabularies> vocabularies) {
  const Texts texts = read_texts(options, data, seed);
  const std::string name = name_of(options, data);
  const auto most = static_cast<std::size_t>(options.vocab_size.value_or(kSeq2SeqWords));
  if (!vocabularies) {
    vocabularies.emplace(Vocabulary::most_frequent(texts.train.source, most),
                         Vocabulary::most_frequent(texts.train.target, most));
  }
  TranslationData result{.name = name,
                         .train = {.name = name},
                         .val = {.name = "validation of " + name},
                         .lower = options.lower,
                         .vocabularies = *std::move(vocabularies),
                         .train_summary = texts.train.summary,
                         .val_summary = std::nullopt};
  std::vector<bool> validates(texts.train.size(), false);
  if (texts.val) {
    result.val_summary = texts.val->summary;
    note_overlap(texts, result.notes);
  } else {
    validates = chosen_to_validate(texts.train, result.notes);
  }
  add_pairs(
      texts.train, result.vocabularies, [&](std::size_t i) { return !validates[i]; }, result.train,
      nullptr);
  add_pairs(
      texts.val ? *texts.val : texts.train, result.vocabularies,
      [&](std::size_t i) { return texts.val || validates[i]; }, result.val, &result.val_lines);
  if (result.val.source.empty()) {
    throw DataError(name, "pairs", std::to_string(texts.train.size()),
                    "at least " + std::to_string(kKeptApart) +
                        ", so that one can validate; or give --val-source or --val-data");
  }
  return result;
}

}  // namespace skyline
