#include "train/options/translation_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>

#include "train/cli/option_types.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMany = 1'000'000'000;

// Every option that a run stores, once: visit(name of the flag with underscores, value).
template <typename Options, typename Visit>
void for_each_value(Options& options, const Visit& visit) {
  visit("pairs", options.pairs);
  visit("source", options.source);
  visit("target", options.target);
  visit("val_data", options.val_data);
  visit("val_source", options.val_source);
  visit("val_target", options.val_target);
  visit("lower", options.lower);
  visit("max_words", options.max_words);
  visit("vocab_size", options.vocab_size);
  visit("bucket", options.bucket);
  visit("strict_text", options.strict);
  visit("layers", options.layers);
  visit("units", options.units);
  visit("embedding", options.embedding);
  visit("dropout", options.dropout);
  visit("unroll", options.unroll);
  visit("clip", options.clip);
  visit("translate_every", options.translate_every);
  visit("val_pairs", options.val_pairs);
}

void add_text_options(CLI::App& app, TranslationOptions& options) {
  add_integer(app, "--pairs", options.pairs, 1, kMany, "Training pairs of the generator");
  const auto files = [&app](const char* flag, std::vector<std::string>& value, const char* help) {
    app.add_option(flag, value, help)->delimiter(',')->type_name("FILE,…");
  };
  files("--source", options.source,
        "Sentences to translate, one a line, plain or gzip'd; several files follow each other");
  files("--target", options.target, "Their translations, line by line, as many files");
  app.add_option("--val-data", options.val_data, "Validation: a tab-separated file")
      ->type_name("FILE");
  files("--val-source", options.val_source, "Validation: sentences, one a line");
  files("--val-target", options.val_target, "Validation: their translations");
  app.add_flag("--lower", options.lower, "Read text in lower case");
  app.add_flag(
      "--strict-text", options.strict,
      "Fail at the first line that is not UTF-8 or lacks its tab; otherwise it is skipped");
  add_integer(app, "--max-words", options.max_words, 1, kMany,
              "Training pairs with a longer sentence are left out");
  add_integer(app, "--vocab-size", options.vocab_size, 1, kMany, "Most frequent words a side");
  app.add_flag("--bucket", options.bucket, "Batches of sentences about as long as each other");
}

void add_network_options(CLI::App& app, TranslationOptions& options) {
  add_integer(app, "--layers", options.layers, 1, 64, "Of each LSTM");
  add_integer(app, "--units", options.units, 1, 65'536, "Of each layer");
  add_integer(app, "--embedding", options.embedding, 0, 65'536, "Of each word; 0 means --units");
  add_number(app, "--dropout", options.dropout, 0, 0.99, "Between layers");
  app.add_flag("--unroll", options.unroll,
               "LSTMs word by word, so that the number of requests grows with the sentences");
  add_number(app, "--clip", options.clip, 0, 1e9,
             "Largest norm of the gradients; 0 means no limit");
}

using Files = std::vector<std::string>;

void require_partners(const char* source_flag, const Files& sources, const char* target_flag,
                      const Files& targets) {
  for (const auto& [flag, files] : {std::pair(source_flag, &sources), {target_flag, &targets}}) {
    if (std::ranges::find(*files, "") != files->end()) {
      throw UsageError(fmt::format("{}: an empty name among its files", flag));
    }
  }
  if (sources.empty() != targets.empty()) {
    throw UsageError(fmt::format("{} and {} belong together: give both", source_flag, target_flag));
  }
  if (sources.size() == targets.size()) return;
  const Files& longer = sources.size() > targets.size() ? sources : targets;
  throw UsageError(fmt::format("{} names {} files, {} {}: '{}' has no partner", source_flag,
                               sources.size(), target_flag, targets.size(),
                               longer[std::min(sources.size(), targets.size())]));
}

}  // namespace

void add_translation_options(CLI::App& app, TranslationOptions& options) {
  add_text_options(app, options);
  add_network_options(app, options);
  add_integer(app, "--translate-every", options.translate_every, 0, kMany,
              "Steps between BLEU with a sample translation; 0 means each epoch");
  add_integer(app, "--val-pairs", options.val_pairs, 1, kMany,
              "At most so many validation pairs are translated");
}

void write_translation_options(const TranslationOptions& options, Json& json) {
  for_each_value(options, [&json](const char* name, const auto& value) { json[name] = value; });
}

TranslationOptions read_translation_options(const Json& json) {
  TranslationOptions options;
  for_each_value(options, [&json](const char* name, auto& value) {
    if (json.contains(name)) json.at(name).get_to(value);
  });
  return options;
}

void resolve(TranslationOptions& options) {
  require_partners("--source", options.source, "--target", options.target);
  require_partners("--val-source", options.val_source, "--val-target", options.val_target);
  if (!options.val_data.empty() && !options.val_source.empty()) {
    throw UsageError("--val-data and --val-source exclude each other: give one of them");
  }
  make_absolute(options.val_data);
  for (Files* files :
       {&options.source, &options.target, &options.val_source, &options.val_target}) {
    std::ranges::for_each(*files, make_absolute);
  }
}

Seq2SeqShape seq2seq_shape(const TranslationOptions& options, std::int64_t source_words,
                           std::int64_t target_words) {
  return {.source_words = source_words,
          .target_words = target_words,
          .layers = options.layers,
          .units = options.units,
          .embedding = options.embedding > 0 ? options.embedding : options.units,
          .dropout = static_cast<float>(options.dropout),
          .unroll = options.unroll};
}

}  // namespace skyline
