#include "train/options/text_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/gpt.h"
#include "train/cli/option_list.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostPairs = 10'000'000;  // generated ones are kept: 160 bytes each

// Image runs stored before translation existed lack all of these.
constexpr unsigned kText = kTranslationOnly | kMayBeAbsent;
constexpr unsigned kAnyText = kTextOnly | kMayBeAbsent;
constexpr unsigned kOfGpt = kGptOnly | kMayBeAbsent;
constexpr std::int64_t kMostCharacters = 1'000'000'000;  // a billion take 2 GB
constexpr std::int64_t kMostLength = 65'536;
constexpr std::int64_t kLayers = 2, kUnits = 256;
constexpr double kDropout = 0.1;
constexpr const char* kPaperSize =
    "--paper sets the size: leave out --layers, --units, --embedding";

void add_vocabulary_size(OptionList& list, TextOptions& options) {
  list.add("--vocab-size", integer(options.vocab_size, 1, kMany),
           "Vocabulary: the N most frequent words per side (default: 40000); gpt: words that "
           "--tokens may name (default: the model's)",
           kAnyText);
}

void add_pair_options(OptionList& list, TextOptions& options) {
  list.add("--pairs", integer(options.pairs, 1, kMostPairs), "Training pairs to generate", kText);
  list.add("--source", files(options.source),
           "Sentences to translate, one per line, plain or gzip'd; several files form one text",
           kText);
  list.add("--target", files(options.target), "Their translations, line by line, as many files",
           kText);
  list.add("--val-data", text(options.val_data, "FILE"), "Validation: a tab-separated file", kText)
      .excludes("--val-source");
  list.add("--val-source", files(options.val_source), "Validation: sentences, one per line", kText);
  list.add("--val-target", files(options.val_target), "Validation: their translations", kText);
  list.add("--lower", flag(options.lower), "Convert text to lower case", kText);
  list.add("--strict-text", flag(options.strict),
           "Fail at the first line that is not UTF-8 or lacks its tab (default: skip it)", kText);
  list.add("--max-words", integer(options.max_words, 1, kMany),
           "Leave out training pairs with a longer sentence", kText);
  add_vocabulary_size(list, options);
  list.add("--bucket", flag(options.bucket), "Batch sentences of similar length", kText);
}

void add_network_options(OptionList& list, TextOptions& options) {
  list.add(
          "--paper", flag(options.paper),
          "PGMO's size: 3 layers of 1024 units; with both vocabularies of 40,000 words 173,306,946 "
          "parameters",
          kText)
      .excludes("--layers", kPaperSize)
      .excludes("--units", kPaperSize)
      .excludes("--embedding", kPaperSize);
  list.add("--layers", integer(options.layers, 1, 64),
           "Layers of each LSTM (default: 2), or of a gpt (default: the model's)", kAnyText);
  list.add("--units", integer(options.units, 1, 65'536),
           "Units per layer (default: 256), or channels of a gpt (default: the model's)", kAnyText);
  list.add("--embedding", integer(options.embedding, 0, 65'536),
           "Values per embedded word (0: as many as --units)", kText);
  list.add("--dropout", number(options.dropout, 0, 0.99),
           "Dropout between layers (default: 0.1), or of a gpt's branches (default: the model's)",
           kAnyText);
  list.add("--unroll", flag(options.unroll),
           "Run LSTMs word by word, so that requests grow with the sentences", kText);
  list.add("--clip", number(options.clip, 0, 1e9),
           "Largest norm of the gradients (0: no limit; default: 5 of seq2seq, 1 of gpt-small, 0 "
           "of gpt2 and with --fused-update)",
           kAnyText);
}

void add_gpt_network_options(OptionList& list, TextOptions& options) {
  list.add("--heads", integer(options.heads, 1, 1024),
           "Heads of attention; divide the units (default: the model's)", kOfGpt);
  list.add("--length", integer(options.length, 1, kMostLength),
           "Words of a window (default: the model's most, 64 of gpt-small, 256 of gpt-medium and "
           "1024 of gpt2; a larger number adds positions to the model)",
           kOfGpt);
  list.add("--biases", flag(options.biases), "Give gpt-small or gpt-medium biases, as gpt2 has",
           kOfGpt);
}

using Files = std::vector<std::string>;

void require_partners(const char* source_flag, const Files& sources, const char* target_flag,
                      const Files& targets) {
  for (const auto& [flag, files] : {std::pair(source_flag, &sources), {target_flag, &targets}}) {
    if (std::ranges::find(*files, "") != files->end()) {
      throw UsageError(fmt::format("{}: one of its file names is empty", flag));
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

void add_text_network_options(OptionList& list, TextOptions& options) {
  add_vocabulary_size(list, options);
  add_network_options(list, options);
  add_gpt_network_options(list, options);
}

void add_text_options(OptionList& list, TextOptions& options) {
  add_pair_options(list, options);
  add_network_options(list, options);
  list.add("--val-pairs", integer(options.val_pairs, 1, kMostPairs),
           "Most validation pairs to translate", kText);
  list.add("--tokens", text(options.tokens, "FILE"),
           "Text as numbers of 16 bits, of GPT-2's tokenizer for example, instead of --data",
           kOfGpt);
  list.add("--characters", integer(options.characters, 100, kMostCharacters),
           "Characters to generate", kOfGpt);
  add_gpt_network_options(list, options);
}

TextOptions resolved(TextOptions options) {
  require_partners("--source", options.source, "--target", options.target);
  require_partners("--val-source", options.val_source, "--val-target", options.val_target);
  make_absolute(options.val_data);
  make_absolute(options.tokens);
  for (Files* files :
       {&options.source, &options.target, &options.val_source, &options.val_target}) {
    std::ranges::for_each(*files, make_absolute);
  }
  return options;
}

Seq2SeqShape seq2seq_shape(const TextOptions& options, std::int64_t source_words,
                           std::int64_t target_words) {
  Seq2SeqShape shape{.source_words = source_words,
                     .target_words = target_words,
                     .dropout = static_cast<float>(options.dropout.value_or(kDropout)),
                     .unroll = options.unroll};
  if (options.paper) return shape;
  shape.layers = options.layers.value_or(kLayers);
  shape.units = options.units.value_or(kUnits);
  shape.embedding = options.embedding > 0 ? options.embedding : shape.units;
  return shape;
}

GptShape gpt_shape(std::string_view model, const TextOptions& options, std::int64_t words) {
  GptShape shape = find_gpt(model)->shape;
  shape.words = words > 0 ? words : options.vocab_size.value_or(shape.words);
  shape.positions = std::max(shape.positions, window_length(model, options));
  shape.layers = options.layers.value_or(shape.layers);
  shape.heads = options.heads.value_or(shape.heads);
  shape.units = options.units.value_or(shape.units);
  shape.biases = shape.biases || options.biases;
  shape.dropout = static_cast<float>(options.dropout.value_or(shape.dropout));
  if (shape.units % shape.heads == 0) return shape;
  throw UsageError(
      fmt::format("--heads {} does not divide the {} units", shape.heads, shape.units));
}

std::int64_t window_length(std::string_view model, const TextOptions& options) {
  return options.length.value_or(find_gpt(model)->shape.positions);
}

}  // namespace skyline
