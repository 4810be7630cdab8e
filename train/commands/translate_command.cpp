#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include "data/errors.h"
#include "data/text/line_reader.h"
#include "data/text/tokenizer.h"
#include "data/text/utf8.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/training_state.h"
#include "train/cli/option_types.h"
#include "train/commands/commands.h"
#include "train/options/train_options.h"
#include "train/translation/bleu.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"
#include "train/translation/translator.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::filesystem::path checkpoint;
  std::optional<std::string> sentence;
  std::filesystem::path input, reference;
  TranslatorOptions translator;
  bool all_words = false;  // go on to the last word, as the paper's example does
  std::int64_t batch_size = 100;
  std::int64_t threads = 0;
  std::string device;  // empty: the run's
};

// A sentence to translate and what it should become.
struct Line {
  std::string text;
  std::vector<std::string> words, reference;
};

std::vector<std::string> lines_of(std::istream& input) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> lines_of_file(const std::filesystem::path& path) {
  LineReader reader(ByteReader::open(path));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.emplace_back(*line);
  return lines;
}

std::vector<std::string> input_lines(const Arguments& arguments) {
  if (arguments.sentence) return {*arguments.sentence};
  if (!arguments.input.empty() && arguments.input != "-") return lines_of_file(arguments.input);
  return lines_of(std::cin);
}

std::string input_name(const Arguments& arguments) {
  if (arguments.sentence) return "SENTENCE";
  return arguments.input.empty() || arguments.input == "-" ? "standard input"
                                                           : arguments.input.string();
}

std::vector<std::string> words_of(const std::string& name, std::size_t number,
                                  const std::string& text, const TokenizerOptions& options) {
  if (const auto position = first_invalid_utf8(text)) {
    throw DataError(name, fmt::format("line {}, {}", number, invalid_utf8_text(text, *position)));
  }
  return tokenize(text, options);
}

std::vector<Line> read_lines(const Arguments& arguments, const TokenizerOptions& options) {
  std::vector<Line> lines;
  const std::string name = input_name(arguments);
  for (std::string& text : input_lines(arguments)) {
    std::vector<std::string> words = words_of(name, lines.size() + 1, text, options);
    lines.push_back({std::move(text), std::move(words), {}});
  }
  if (arguments.reference.empty()) return lines;
  const std::string reference_name = arguments.reference.string();
  const std::vector<std::string> references = lines_of_file(arguments.reference);
  if (references.size() != lines.size()) {
    throw DataError(reference_name, "lines", std::to_string(references.size()),
                    fmt::format("{}, as many as {} has", lines.size(), name));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].reference = words_of(reference_name, i + 1, references[i], options);
  }
  return lines;
}

std::vector<std::int32_t> encoded(const Vocabulary& vocabulary,
                                  const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return vocabulary.encode(views);
}

// Lines without words stay as they are: an empty answer.
std::vector<std::vector<std::string>> answers(TranslationExperiment& experiment,
                                              const Vocabularies& vocabularies,
                                              const std::vector<Line>& lines,
                                              const Arguments& arguments) {
  std::vector<std::vector<std::string>> result(lines.size());
  std::vector<std::size_t> batch;
  const auto flush = [&] {
    if (batch.empty()) return;
    std::vector<std::vector<std::int32_t>> sources;
    for (const std::size_t i : batch) {
      sources.push_back(encoded(vocabularies.source, lines[i].words));
    }
    const auto ids = translate(experiment.context, experiment.model,
                               pack_source(std::move(sources)), arguments.translator);
    for (std::size_t k = 0; k < batch.size(); ++k) {
      result[batch[k]] = vocabularies.target.decode(ids[k]);
    }
    batch.clear();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].words.empty()) batch.push_back(i);
    if (batch.size() == static_cast<std::size_t>(arguments.batch_size)) flush();
  }
  flush();
  return result;
}

Json translations_json(const std::vector<Line>& lines,
                       const std::vector<std::vector<std::string>>& translated) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    rows.push_back({{"source", lines[i].text}, {"translation", detokenize(translated[i])}});
  }
  return rows;
}

TrainOptions options_of_run(const LoadedCheckpoint& loaded, const Arguments& arguments) {
  TrainOptions options = train_options_from(loaded.checkpoint.position.arguments);
  if (!translates(options)) {
    throw UsageError("the checkpoint is of " + options.model +
                     ", which classifies images: see skyline evaluate");
  }
  if (arguments.threads > 0) options.threads = arguments.threads;
  move_to(options, arguments.device);
  resolve(options);
  return options;
}

CommandResult run(Arguments arguments, Console& console) {
  if (arguments.sentence && !arguments.input.empty()) {
    throw UsageError("SENTENCE and --input exclude each other: give one of them");
  }
  arguments.translator.stop_at_end = !arguments.all_words;
  const LoadedCheckpoint loaded = load_checkpoint(arguments.checkpoint);
  for (const std::string& warning : loaded.warnings) console.warn(warning);
  const TrainOptions options = options_of_run(loaded, arguments);
  const Vocabularies vocabularies = Vocabularies::open(run_folder_of(loaded));
  check_vocabularies(vocabularies, run_folder_of(loaded).string(), loaded.checkpoint.position);
  const std::vector<Line> lines = read_lines(arguments, {.lower = options.translation.lower});

  Context::Options context = context_options(options);
  context.mode = Mode::kInference;
  MemoryOptions memory = options.memory;
  memory.allocator = "best-fit-pool";  // sentences of all lengths: nothing that could be planned
  TranslationExperiment experiment(
      memory, context,
      seq2seq_shape(options.translation, static_cast<std::int64_t>(vocabularies.source.size()),
                    static_cast<std::int64_t>(vocabularies.target.size())));
  restore_weights(experiment, loaded.checkpoint, {});
  const auto started = std::chrono::steady_clock::now();
  const auto translated = answers(experiment, vocabularies, lines, arguments);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  CommandResult result;
  result.json = {{"checkpoint", loaded.path.string()},
                 {"sentences", lines.size()},
                 {"seconds", seconds.count()},
                 {"translations", translations_json(lines, translated)}};
  for (const auto& words : translated) result.text += detokenize(words) + "\n";
  if (!arguments.reference.empty()) {
    Bleu bleu;
    for (std::size_t i = 0; i < lines.size(); ++i) bleu.add(translated[i], lines[i].reference);
    result.json["bleu"] = bleu.score();
    result.json["bleu_smoothing"] = "none";
    result.json["exact_match"] = bleu.exact_match();
    console.say(fmt::format("{}, exact match {:.1f} %", bleu.text(), 100 * bleu.exact_match()));
  }
  return result;
}

}  // namespace

CommandRun declare_translate(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  require(add_path(app, "CHECKPOINT", arguments->checkpoint,
                   "Folder of a run (its last good checkpoint is taken) or of one checkpoint",
                   "DIR"));
  app.add_option("SENTENCE", arguments->sentence,
                 "What to translate; otherwise --input, or standard input, line by line")
      ->type_name("TEXT");
  add_path(app, "--input", arguments->input, "Sentences, one a line; - is standard input", "FILE");
  add_path(app, "--reference", arguments->reference,
           "Their translations: corpus BLEU (tokenized, up to 4-grams, not smoothed) and exact "
           "matches are told",
           "FILE");
  add_integer(app, "--beam", arguments->translator.beam, 1, 1000,
              "Hypotheses kept a sentence; 1 takes the likeliest word each time");
  add_number(app, "--length-penalty", arguments->translator.length_penalty, 0, 10,
             "Beam search divides log probabilities by words to this power");
  add_integer(app, "--max-length", arguments->translator.max_words, 1, 100'000,
              "Words of an answer at most");
  app.add_flag("--all-words", arguments->all_words,
               "Go on for --max-length words after all sentences have ended, as the paper did");
  add_integer(app, "--batch-size", arguments->batch_size, 1, 1'000'000, "Sentences at once");
  add_integer(app, "--threads", arguments->threads, 0, 4096, "0 means the run's");
  add_choice(app, "--device", arguments->device, {"cpu", "cuda"}, "device",
             "What computes; otherwise what the run was trained on");
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
