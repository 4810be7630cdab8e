#include "train/translation/translation_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "data/host.h"
#include "data/text/numbers.h"
#include "train/checkpoints/files.h"
#include "train/cli/usage_error.h"
#include "train/run/random_bits.h"

namespace skyline {
namespace {

constexpr std::size_t kKeptApart = 20;  // one of so many pairs is held out to validate

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

ParallelTextOptions reader_options(const TranslationOptions& options, bool training) {
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

Texts read_texts(const TranslationOptions& options, const std::string& data, std::uint64_t seed) {
  Texts texts;
  const auto val_options = reader_options(options, false);
  if (!options.val_source.empty()) {
    texts.val = read_text_files(partners(options.val_source, options.val_target), val_options);
  } else if (!options.val_data.empty()) {
    texts.val = read_tab_separated_text(options.val_data, val_options);
  }
  if (!options.source.empty()) {
    texts.train =
        read_text_files(partners(options.source, options.target), reader_options(options, true));
  } else if (data == "numbers") {
    texts.train =
        numbers_text(static_cast<std::size_t>(options.pairs), Split::kTrain, random_bits(seed));
    if (!texts.val) {
      texts.val = numbers_text(static_cast<std::size_t>(options.val_pairs), Split::kTest,
                               random_bits(seed));
    }
  } else if (std::filesystem::is_regular_file(data)) {
    texts.train = read_tab_separated_text(data, reader_options(options, true));
  } else {
    refuse(data);
  }
  return texts;
}

// Adds the pairs i of `text` for which chosen(i) is true.
template <typename Chosen>
void add_pairs(const ParallelText& text, const Vocabularies& vocabularies, const Chosen& chosen,
               SentencePairs& pairs, std::vector<std::vector<std::string>>* references) {
  const SentenceList source = vocabularies.source.encode(text.source);
  const SentenceList target = vocabularies.target.encode(text.target);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!chosen(i)) continue;
    pairs.source.push_back(source[i]);
    pairs.target.push_back(target[i]);
    if (references != nullptr) references->push_back(text.target.sentence(i));
  }
}

std::string name_of(const TranslationOptions& options, const std::string& data) {
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

TranslationData open_translation_data(const TranslationOptions& options, const std::string& data,
                                      std::uint64_t seed,
                                      std::optional<Vocabularies> vocabularies) {
  const Texts texts = read_texts(options, data, seed);
  const std::string name = name_of(options, data);
  const auto most = static_cast<std::size_t>(options.vocab_size);
  if (!vocabularies) {
    vocabularies.emplace(Vocabulary::most_frequent(texts.train.source, most),
                         Vocabulary::most_frequent(texts.train.target, most));
  }
  TranslationData result{.name = name,
                         .train = {.name = name},
                         .val = {.name = "validation of " + name},
                         .references = {},
                         .vocabularies = *std::move(vocabularies),
                         .train_summary = texts.train.summary,
                         .val_summary = std::nullopt};
  const auto validates = [&texts](std::size_t i) {
    return !texts.val && i % kKeptApart == kKeptApart - 1;
  };
  add_pairs(
      texts.train, result.vocabularies, [&](std::size_t i) { return !validates(i); }, result.train,
      nullptr);
  if (texts.val) result.val_summary = texts.val->summary;
  add_pairs(
      texts.val ? *texts.val : texts.train, result.vocabularies,
      [&](std::size_t i) { return texts.val || validates(i); }, result.val, &result.references);
  if (result.val.source.empty()) {
    throw DataError(name, "pairs", std::to_string(texts.train.size()),
                    "at least " + std::to_string(kKeptApart) + ", so that one can validate");
  }
  return result;
}

}  // namespace skyline
