#include <memory>
#include <optional>

#include "framework/graph_text.h"
#include "train/checkpoints/atomic_file.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/images/image_run.h"
#include "train/images/image_step.h"
#include "train/options/train_options.h"
#include "train/translation/translation_run.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostSamples = 1'000'000;
constexpr std::int32_t kWords =
    10;  // per sentence of seq2seq; with --unroll the graph grows with it

struct Arguments {
  ModelOptions model;
  std::int64_t batch_size = 32;
  bool infer = false;
  bool in_place = true;
  std::int64_t recompute = 0;
  bool fused_update = false;
  std::string phase = "all";
  bool dot = false;
  std::filesystem::path output;
};

Context::Options context_options(const Arguments& arguments) {
  return {.execute = false,
          .mode = arguments.infer ? Mode::kInference : Mode::kTraining,
          .in_place = arguments.in_place,
          .recompute = static_cast<int>(arguments.recompute),
          .fused_update = arguments.fused_update,
          .record_graph = true};
}

// Runs one step without memory and without arithmetic.
RecordedStep record_images(const Arguments& arguments, const MemoryOptions& memory) {
  Experiment run(memory, context_options(arguments), find_model(arguments.model.model),
                 shape_of(arguments.model));
  Batch batch;
  batch.size = static_cast<std::size_t>(arguments.batch_size);
  run.step(batch, {});
  return run.context.recorded_step();
}

RecordedStep record_text(const Arguments& arguments, const MemoryOptions& memory) {
  TranslationExperiment run(memory, context_options(arguments),
                            translation_shape_of(arguments.model));
  const std::vector<std::int32_t> lengths(static_cast<std::size_t>(arguments.batch_size), kWords);
  translation_training_step(run.context, run.model, *run.optimizer,
                            batch_of_lengths(lengths, lengths),
                            {.clip = static_cast<float>(arguments.model.translation.clip)});
  return run.context.recorded_step();
}

RecordedStep recorded_step(const Arguments& arguments) {
  const MemoryOptions memory{.device = "simulated", .allocator = "best-fit-pool"};
  try {
    return translates(arguments.model.model) ? record_text(arguments, memory)
                                             : record_images(arguments, memory);
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

CommandResult run(const OptionList& list, const Arguments& arguments, Console& console) {
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
  const auto arguments = std::make_shared<Arguments>();
  add_all_model_options(list, arguments->model);
  list.add("--batch-size", integer(arguments->batch_size, 1, kMostSamples),
           "Images or sentences per step");
  list.add("--infer", flag(arguments->infer), "Run an inference step instead of a training step",
           kImagesOnly);
  add_step_options(list, arguments->in_place, arguments->recompute, arguments->fused_update);
  list.add("--phase", choice(arguments->phase, {"all", "forward", "backward", "update"}, "phase"),
           "Ops to print");
  list.add("--dot", flag(arguments->dot), "Print a Graphviz graph instead of text");
  list.add("--output", path(arguments->output, "FILE"),
           "Write to FILE instead: a Graphviz graph if it ends in .dot, JSON if it ends in .json");
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
