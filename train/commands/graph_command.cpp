#include <memory>
#include <optional>

#include "framework/graph_text.h"
#include "train/checkpoints/files.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostSamples = 1'000'000;
// Words per sentence of seq2seq. With --unroll, the graph grows with this number.
constexpr std::int64_t kWords = 10;

struct GraphArguments {
  ModelOptions model;
  std::int64_t batch_size = 32;
  bool infer = false;
  StepOptions step;
  std::string phase = "all";
  bool dot = false;
  std::filesystem::path output;
};

// Runs one step without memory or arithmetic.
RecordedStep recorded_step(const GraphArguments& arguments) {
  try {
    return dry_run({.model = arguments.model.model,
                    .shape = shape_of(arguments.model),
                    .translation = translation_shape_of(arguments.model),
                    .sentence_words = kWords,
                    .batch_size = arguments.batch_size,
                    .mode = arguments.infer ? Mode::kInference : Mode::kTraining,
                    .optimizer = optimizer_of(arguments.model, arguments.step),
                    .step = arguments.step})
        .step;
  } catch (const ShapeError& error) {  // --insize or --channels that the model cannot take
    throw UsageError(error.what());
  }
}

std::optional<Phase> phase_of(const std::string& name) {
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    if (name == phase_name(phase)) return phase;
  }
  return {};
}

CommandResult run(const OptionList& list, const GraphArguments& arguments, Console& console) {
  check_given(list, arguments.model.model);
  const RecordedStep step = recorded_step(arguments);
  const std::optional<Phase> phase = phase_of(arguments.phase);
  CommandResult result{.json = json_of(step, phase)};
  const std::string ending = arguments.output.extension().string();
  const bool dot = arguments.dot || ending == ".dot";
  result.text = dot ? to_dot(step, phase) : to_text(step, phase);
  if (!arguments.output.empty()) {
    write_atomically(arguments.output, ending == ".json" ? result.json + "\n" : result.text);
    result.text.clear();
    console.say("wrote " + arguments.output.string());
  }
  return result;
}

}  // namespace

CommandRun declare_graph(OptionList& list) {
  const auto arguments = std::make_shared<GraphArguments>();
  add_model_options(list, arguments->model);
  list.add("--batch-size", integer(arguments->batch_size, 1, kMostSamples),
           "Images or sentences of a batch");
  list.add("--infer", flag(arguments->infer), "Run an inference step instead of a training step");
  add_step_options(list, arguments->step);
  list.add("--phase", choice(arguments->phase, {"all", "forward", "backward", "update"}, "phase"),
           "Ops to print");
  list.add("--dot", flag(arguments->dot), "Print a Graphviz graph instead of text");
  list.add("--output", path(arguments->output, "FILE"),
           "Write to FILE instead: a Graphviz graph if it ends in .dot, JSON if it ends in .json");
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
