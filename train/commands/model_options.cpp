#include "train/commands/model_options.h"

#include "models/models.h"
#include "train/cli/option_list.h"
#include "train/options/train_options.h"

namespace skyline {

void add_model_options(OptionList& list, ModelOptions& options) {
  list.add("--model", choice(options.model, model_names(), "model"), "Network");
  list.add("--classes", integer(options.classes, 1, 1'000'000),
           "Number of classes (default: the paper's)", kImagesOnly);
  list.add("--insize", integer(options.insize, 1, 32'768),
           "Height and width of the images (default: the paper's)", kImagesOnly);
  list.add("--channels", integer(options.channels, 1, 4096),
           "Channels of the images (default: the paper's)", kImagesOnly);
  add_text_network_options(list, options.text);
}

Seq2SeqShape translation_shape_of(const ModelOptions& options) {
  const TextOptions& text = options.text;
  // The paper's count leaves out the unknown word and the end of sentence.
  const std::int64_t words = text.vocab_size.value_or(kSeq2SeqWords) + (text.paper ? 2 : 0);
  return seq2seq_shape(text, words, words);
}

DryRunOptions dry_run_options(const ModelOptions& options, const StepOptions& step, bool infer) {
  TrainOptions training{.model = options.model, .optimizer = options.optimizer, .step = step};
  training.text = options.text;
  training = resolved(training);
  DryRunOptions program{.model = options.model,
                        .shape = shape_of(options),
                        .translation = translation_shape_of(options),
                        .mode = infer ? Mode::kInference : Mode::kTraining,
                        .optimizer = optimizer_options(training),
                        .step = training.step};
  if (find_gpt(options.model) != nullptr) {
    program.gpt = gpt_shape(options.model, options.text);
    program.window_length = static_cast<std::size_t>(window_length(options.model, options.text));
  }
  return program;
}

ModelShape shape_of(const ModelOptions& options) {
  if (task_of(options.model).trait != kImagesOnly) return {};
  ModelShape shape = find_model(options.model).shape;
  const auto override_with = [](int& extent, const std::optional<std::int64_t>& value) {
    if (value) extent = static_cast<int>(*value);
  };
  override_with(shape.classes, options.classes);
  override_with(shape.height, options.insize);
  override_with(shape.width, options.insize);
  override_with(shape.channels, options.channels);
  return shape;
}

}  // namespace skyline
