#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "data/host.h"
#include "data/text/characters.h"
#include "data/text/parallel_text.h"
#include "data/text/tokenizer.h"
#include "memory/now_seconds.h"
#include "train/commands/commands.h"
#include "train/images/trained_network.h"
#include "train/state/training_state.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_evaluation.h"
#include "train/translation/translation_run.h"
#include "train/translation/translator.h"

namespace skyline {
namespace {

struct TranslateArguments {
  CheckpointArguments network{.batch_size = 100};
  std::optional<std::string> sentence;
  std::filesystem::path input, reference;
  TranslatorOptions translator;
  bool all_words = false;  // translate up to --max-length, as the paper's example does
};

struct Translation {
  std::string source, translation;  // one line each
};

Rows<Translation> rows(const Translation*) {
  return {{"source", "the sentence", &Translation::source},
          {"translation", "of it", &Translation::translation}};
}

struct Translations {
  std::string checkpoint;
  double seconds = 0;
  std::vector<Translation> translations;
  std::vector<std::string> unknown_words;   // of the sources, each once
  std::optional<double> bleu, exact_match;  // if a reference was given
  std::string bleu_signature;
};

Rows<Translations> rows(const Translations*) {
  return {{"checkpoint", "its folder", &Translations::checkpoint},
          {"sentences", kCount, "translated", [](auto& all) { return all.translations.size(); }},
          {"seconds", kSeconds, "of translating", &Translations::seconds},
          {"unknown_words", "words that the vocabulary lacks", &Translations::unknown_words},
          {"translations", "one object a sentence", &Translations::translations},
          {"bleu", kNumber, "with --reference: corpus BLEU, 0 to 100",
           [](auto& all) { return if_known(all.bleu); }},
          {"bleu_signature", "with --reference: how sacrebleu names this score",
           [](auto& all) { return only_if(all.bleu.has_value(), all.bleu_signature); }},
          {"exact_match", kShare, "with --reference: translations with the same words",
           [](auto& all) { return if_known(all.exact_match); }}};
}

// A sentence to translate and its reference.
struct Line {
  std::string text, reference;
  std::vector<std::string> words;
};

std::vector<std::string> lines_of(std::istream& input) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> lines_of_file(const std::filesystem::path& path, Console& console) {
  LineReader reader(ByteReader::open(path));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.emplace_back(*line);
  if (const std::string fault = line_end_fault(reader); !fault.empty()) console.warn(fault);
  return lines;
}

std::vector<std::string> input_lines(const TranslateArguments& arguments, Console& console) {
  if (arguments.sentence) return {*arguments.sentence};
  if (!arguments.input.empty() && arguments.input != "-")
    return lines_of_file(arguments.input, console);
  return lines_of(std::cin);
}

std::string input_name(const TranslateArguments& arguments) {
  if (arguments.sentence) return "SENTENCE";
  return arguments.input.empty() || arguments.input == "-" ? "standard input"
                                                           : arguments.input.string();
}

void require_utf8(const std::string& name, std::size_t number, const std::string& text) {
  if (const auto position = first_invalid_utf8(text)) {
    throw DataError(name, fmt::format("line {}, {}", number, invalid_utf8_text(text, *position)));
  }
}

std::vector<Line> read_lines(const TranslateArguments& arguments, const TokenizerOptions& options,
                             Console& console) {
  std::vector<Line> lines;
  const std::string name = input_name(arguments);
  for (std::string& text : input_lines(arguments, console)) {
    require_utf8(name, lines.size() + 1, text);
    std::vector<std::string> words = tokenize(text, options);
    lines.push_back({std::move(text), {}, std::move(words)});
  }
  if (arguments.reference.empty()) return lines;
  const std::string reference_name = arguments.reference.string();
  std::vector<std::string> references = lines_of_file(arguments.reference, console);
  if (references.size() != lines.size()) {
    throw DataError(reference_name, "lines", std::to_string(references.size()),
                    fmt::format("{}, as in {}", lines.size(), name));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    require_utf8(reference_name, i + 1, references[i]);
    lines[i].reference = std::move(references[i]);
  }
  return lines;
}

std::vector<std::int32_t> encoded(const Vocabulary& vocabulary,
                                  const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return vocabulary.encode(views);
}

// Returns the words that the vocabulary lacks, each once, in the order of the lines.
std::vector<std::string> unknown_words(const Vocabulary& vocabulary,
                                       const std::vector<Line>& lines) {
  std::vector<std::string> unknown;
  std::set<std::string> seen;
  for (const Line& line : lines) {
    for (const std::string& word : line.words) {
      if (vocabulary.id(word) != kUnknownWord || !seen.insert(word).second) continue;
      unknown.push_back(word);
    }
  }
  return unknown;
}

std::string unknown_words_text(const std::vector<std::string>& words) {
  constexpr std::size_t kNamed = 50;
  std::string named;
  for (std::size_t i = 0; i < std::min(words.size(), kNamed); ++i) {
    named += (i == 0 ? "" : ", ") + printable(words[i]);
  }
  if (words.size() > kNamed) named += fmt::format(" and {} more", words.size() - kNamed);
  return fmt::format("{} word{} not in the source's vocabulary and read as unknown: {}",
                     words.size(), words.size() == 1 ? " is" : "s are", named);
}

// Translates in batches. A line without words gives an empty translation.
std::vector<std::vector<std::string>> answers(TranslationRun& run, const Vocabularies& vocabularies,
                                              const std::vector<Line>& lines,
                                              const TranslatorOptions& options,
                                              std::size_t batch_size) {
  std::vector<std::vector<std::string>> result(lines.size());
  std::vector<std::size_t> batch;
  const auto flush = [&] {
    if (batch.empty()) return;
    std::vector<std::vector<std::int32_t>> sources;
    for (const std::size_t i : batch) {
      sources.push_back(encoded(vocabularies.source, lines[i].words));
    }
    const auto ids = translate(run.context, run.model, pack_source(std::move(sources)), options);
    for (std::size_t k = 0; k < batch.size(); ++k) {
      result[batch[k]] = vocabularies.target.decode(ids[k]);
    }
    batch.clear();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].words.empty()) batch.push_back(i);
    if (batch.size() == batch_size) flush();
  }
  flush();
  return result;
}

CommandResult run(TranslateArguments arguments, Console& console) {
  if (arguments.sentence && !arguments.input.empty()) {
    throw UsageError("SENTENCE and --input exclude each other: give one of them");
  }
  arguments.translator.stop_at_end = !arguments.all_words;
  TrainedNetwork trained = load_network(arguments.network, kTranslationOnly, console);
  trained.options = resolved(trained.options);
  const TrainOptions& options = trained.options;
  const std::filesystem::path folder = run_folder_of(trained.loaded);
  const Vocabularies vocabularies = Vocabularies::open(folder);
  check_vocabularies(vocabularies, folder.string(), trained.position().data);
  const std::vector<Line> lines = read_lines(arguments, {.lower = options.text.lower}, console);

  const std::vector<std::string> unknown = unknown_words(vocabularies.source, lines);
  if (!unknown.empty()) console.warn(unknown_words_text(unknown));

  MemoryOptions memory = options.memory;
  memory.allocator = "best-fit-pool";  // every sentence has its own length, so no plan fits
  TranslationRun run(
      memory, inference_context(trained),
      {.shape = seq2seq_shape(options.text, static_cast<std::int64_t>(vocabularies.source.size()),
                              static_cast<std::int64_t>(vocabularies.target.size()))});
  restore_weights(run, trained.loaded.checkpoint, {});
  const double started = now_seconds();
  const auto translated = answers(run, vocabularies, lines, arguments.translator,
                                  static_cast<std::size_t>(options.batch_size));
  const double seconds = now_seconds() - started;

  Translations answer{.checkpoint = trained.loaded.path.string(),
                      .seconds = seconds,
                      .translations = {},
                      .unknown_words = unknown};
  CommandResult result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    answer.translations.push_back(
        {lines[i].text, with_digits_of(lines[i].text, detokenize(translated[i]))});
    result.text += answer.translations.back().translation + "\n";
  }
  if (!arguments.reference.empty()) {
    Bleu bleu(options.text.lower);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      bleu.add(answer.translations[i].translation, lines[i].reference);
    }
    answer.bleu = bleu.score();
    answer.bleu_signature = bleu.signature();
    answer.exact_match = bleu.exact_match();
    console.say(fmt::format("{}, exact match {:.1f} %", bleu.text(), 100 * bleu.exact_match()));
  }
  result.json = json_text(value_of(answer));
  return result;
}

}  // namespace

CommandRun declare_translate(OptionList& list) {
  const auto arguments = std::make_shared<TranslateArguments>();
  TranslatorOptions& translator = arguments->translator;
  add_checkpoint_arguments(list, "CHECKPOINT", arguments->network);
  list.add("SENTENCE", text(arguments->sentence),
           "Sentence to translate (default: the lines of --input or standard input)");
  list.add("--input", path(arguments->input, "FILE"),
           "Sentences, one per line; - reads standard input");
  list.add(
      "--reference", path(arguments->reference, "FILE"),
      "Their translations, to report corpus BLEU as sacrebleu does (tokenizer 13a) and matches "
      "of all words");
  list.add("--beam", integer(translator.beam, 1, 1000), "Beam width (1: greedy)");
  list.add("--length-penalty", number(translator.length_penalty, 0, 10),
           "Beam search divides log probabilities by the number of words to this power");
  list.add("--max-length", integer(translator.max_words, 1, 100'000),
           "Maximum output length in words");
  list.add("--all-words", flag(arguments->all_words),
           "Go on for --max-length words after all sentences have ended, as the paper did");
  list.prints(keys<Translations>);
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
