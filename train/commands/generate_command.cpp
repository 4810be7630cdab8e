// The commands that read a checkpoint of a model that goes on with a text: generate, and evaluate.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>
#include <sstream>

#include "memory/now_seconds.h"
#include "train/commands/commands.h"
#include "train/images/trained_network.h"
#include "train/run/dry_run.h"
#include "train/state/training_state.h"
#include "train/text/text_data.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostWords = 1'000'000;

struct GenerateArguments {
  CheckpointArguments network;
  std::string prompt = "\n";
  std::int64_t length = 400;
  SamplerOptions sampler;
};

// The characters of a run; none if its words are numbers. Throws CheckpointError.
CharacterSet characters_of(const TrainedNetwork& trained) {
  if (!trained.options.text.tokens.empty()) return {};
  const std::filesystem::path file = run_folder_of(trained.loaded) / kCharactersFile;
  CharacterSet characters = CharacterSet::open(file);
  check_characters(characters, file.string(), trained.position().data);
  return characters;
}

// Makes the network with the checkpoint's weights, see inference_context(). A run that generates
// plans for its longest text before the first step.
std::unique_ptr<TextRun> inference_run(const TrainedNetwork& trained, const TextRunOptions& options,
                                       const TextStream* text) {
  const Context::Options context = inference_context(trained);
  MemoryOptions memory = trained.options.memory;
  memory.policy = ShapePolicy::kUpperBound;
  auto run = std::make_unique<TextRun>(memory, context, options, text);
  if (options.generates && run->memory.session() != nullptr) {
    DryRun dry(
        std::make_unique<TextRun>(dry_memory(), dry_context(context, Mode::kInference), options));
    run->memory.session()->adopt(dry.foresee(1, Mode::kInference).trace,
                                 {options.length, StepKind::kInference});
  }
  restore_weights(*run, trained.loaded.checkpoint, {});
  return run;
}

struct Generated {
  TrainedNetwork by;
  std::string prompt, text;
  std::vector<std::uint16_t> words;  // that follow the prompt
  double seconds = 0;
};

Rows<Generated> rows(const Generated*) {
  return {{"", "the network", &Generated::by},
          {"prompt", "what the text begins with", &Generated::prompt},
          {"text", "what follows; numbers if the network has no characters", &Generated::text},
          {"words", kCount, "generated: characters or numbers",
           [](auto& generated) { return generated.words.size(); }},
          {"seconds", kSeconds, "of generating", &Generated::seconds}};
}

// Numbers between blanks. Throws UsageError.
std::vector<std::uint16_t> numbers_in(const std::string& prompt, std::int64_t words) {
  std::vector<std::uint16_t> numbers;
  std::istringstream parts(prompt);
  for (std::int64_t number = 0; parts >> number;) {
    if (number < 0 || number >= words) break;
    numbers.push_back(static_cast<std::uint16_t>(number));
  }
  if (parts.eof() && !numbers.empty()) return numbers;
  throw UsageError(fmt::format(
      "--prompt: the network's words are numbers from 0 to {}: give some, with blanks between them",
      words - 1));
}

CommandResult run(const GenerateArguments& arguments, Console& console) {
  TrainedNetwork trained = load_network(arguments.network, kGptOnly, console);
  trained.options = resolved(trained.options);
  const CharacterSet characters = characters_of(trained);
  TextRunOptions options = text_run_options(trained.options, characters.size());
  options.generates = true;
  const bool spells = characters.size() > 0;
  const std::vector<std::uint16_t> prompt = spells
                                                ? characters.encode("--prompt", arguments.prompt)
                                                : numbers_in(arguments.prompt, options.shape.words);
  if (prompt.empty()) throw UsageError("--prompt: give at least one character");
  const std::unique_ptr<TextRun> run = inference_run(trained, options, nullptr);
  const double started = now_seconds();
  Generated generated{.by = trained, .prompt = arguments.prompt, .text = {}, .words = {}};
  generated.words =
      run->generate(prompt, static_cast<std::size_t>(arguments.length), arguments.sampler);
  generated.seconds = now_seconds() - started;
  generated.text = spells ? characters.decode(generated.words)
                          : fmt::format(" {}", fmt::join(generated.words, " "));
  return told(generated, printable_lines(generated.prompt + generated.text) + "\n");
}

// The answer of `skyline evaluate` for a text.
struct TextEvaluation {
  TrainedNetwork by;
  std::string data;
  std::size_t windows = 0;
  Evaluation found;
  double seconds = 0;
};

Rows<TextEvaluation> rows(const TextEvaluation*) {
  const auto metric = [](std::size_t number) {
    return [number](auto& answer) { return answer.found.metrics[number].second; };
  };
  return {{"", "the network", &TextEvaluation::by},
          {"data", "what it was evaluated on", &TextEvaluation::data},
          {"windows", kCount, "of text, side by side", &TextEvaluation::windows},
          {"test_loss", kNumber, "of text: mean cross-entropy of a word", metric(0)},
          {"perplexity", kNumber, "of text: its exponential", metric(1)},
          {"bits", kNumber, "of text: the loss in bits a word", metric(2)},
          {"seconds", kSeconds, "of the evaluation", &TextEvaluation::seconds}};
}

}  // namespace

std::vector<JsonKey> text_evaluation_keys(const std::string& prefix) {
  return keys<TextEvaluation>(prefix);
}

CommandResult evaluate_text(TrainedNetwork trained, const std::string& data) {
  TrainOptions& given = trained.options;
  const CharacterSet characters = characters_of(trained);
  const bool spells = characters.size() > 0;
  if (!data.empty()) (spells ? given.data.data : given.text.tokens) = data;
  given = resolved(given);
  TextStream text = open_text(given, spells ? &characters : nullptr);
  text.only_validates = !data.empty();
  const TextRunOptions options = text_run_options(given, characters.size());
  const std::unique_ptr<TextRun> run = inference_run(trained, options, &text);
  const double started = now_seconds();
  TextEvaluation answer{.by = trained,
                        .data = text.name,
                        .windows = windows_of(text.validation(), options.length),
                        .found = run->evaluate(0, {})};
  answer.seconds = now_seconds() - started;
  return told(answer,
              fmt::format("{} after step {} on {}: {} over {} windows\n", given.model,
                          trained.position().step, text.name, answer.found.text, answer.windows));
}

CommandRun declare_generate(OptionList& list) {
  const auto arguments = std::make_shared<GenerateArguments>();
  add_checkpoint_arguments(list, "RUN", arguments->network);
  list.add(
      "--prompt", text(arguments->prompt),
      "Text to go on with; numbers, if the network was trained with --tokens (default: a line's "
      "end)");
  list.add("--length", integer(arguments->length, 1, kMostWords), "Characters to add");
  list.add("--temperature", number(arguments->sampler.temperature, 0, 100),
           "Divides the logits: the higher, the more surprising; 0 takes the likeliest character");
  list.add("--top-k", integer(arguments->sampler.top_k, 0, kMany),
           "Draw from the K likeliest characters only (0: from all)");
  list.add("--seed", integer(arguments->sampler.seed, 0, std::numeric_limits<std::int64_t>::max()),
           "Seed of the drawing");
  list.prints(keys<Generated>);
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
