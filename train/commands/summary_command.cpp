#include <fmt/format.h>

#include <memory>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/lab/model_summary.h"
#include "train/options/train_options.h"

namespace skyline {

Rows<LayerSummary> rows(const LayerSummary*) {
  return {
      {"layer", "its name; empty for ops outside of layers", &LayerSummary::layer},
      {"op", "what it computes", &LayerSummary::op},
      {"output", "extents of the output",
       [](auto& layer) {
         std::vector<std::int64_t> extents;
         for (int axis = 0; axis < layer.output.rank(); ++axis)
           extents.push_back(layer.output[axis]);
         return extents;
       }},
      {"parameters", kCount, "that it is the first to use", &LayerSummary::parameters},
      {"trained_parameters", kCount, "of these those that are not frozen", &LayerSummary::trained},
      {"multiply_adds", kCount, "of convolutions and products", &LayerSummary::multiply_adds},
      {"auxiliary", "it is part of a head used only in training", &LayerSummary::auxiliary}};
}

namespace {

// Figures of a model or of a part of it.
struct ModelTotals {
  std::int64_t parameters = 0, trained = 0, multiply_adds = 0;
};

struct ModelSummary {
  std::string model;
  ModelShape shape;                 // image models only
  std::int64_t sentence_words = 0;  // or of a window; of text
  std::vector<LayerSummary> layers;
  ModelTotals all, auxiliary_heads;

  bool of_text() const { return task_of(model).trait != kImagesOnly; }
};

Rows<ModelSummary> rows(const ModelSummary*) {
  return {{"model", "the network", &ModelSummary::model},
          {"sentence_words", kCount, "words of a sentence or a window; of text",
           [](auto& summary) { return only_if(summary.of_text(), summary.sentence_words); }},
          {"input", "channels, height and width of an image",
           [](auto& summary) {
             const auto& [channels, height, width, classes] = summary.shape;
             return only_if(!summary.of_text(), std::vector<std::int64_t>{channels, height, width});
           }},
          {"classes", kCount, "of images",
           [](auto& summary) { return only_if(!summary.of_text(), summary.shape.classes); }},
          {"parameters", kCount, "of the network",
           [](auto& summary) { return summary.all.parameters; }},
          {"trained_parameters", kCount, "of the network, without frozen ones",
           [](auto& summary) { return summary.all.trained; }},
          {"multiply_adds", kCount, "of an image, a window or a pair of sentences",
           [](auto& summary) { return summary.all.multiply_adds; }},
          {"auxiliary_parameters", kCount, "of auxiliary heads",
           [](auto& summary) { return summary.auxiliary_heads.parameters; }},
          {"auxiliary_multiply_adds", kCount, "of auxiliary heads",
           [](auto& summary) { return summary.auxiliary_heads.multiply_adds; }},
          {"layers", "the ops, in forward order", &ModelSummary::layers}};
}

void add(ModelTotals& totals, const LayerSummary& row) {
  totals.parameters += row.parameters;
  totals.trained += row.trained;
  totals.multiply_adds += row.multiply_adds;
}

std::string text_of(const ModelTotals& totals) {
  return fmt::format("{} parameters and {} multiply-adds", format_count(totals.parameters),
                     format_count(totals.multiply_adds));
}

std::string table_of(const std::vector<LayerSummary>& rows) {
  Table table("<layer | <op | <output | parameters | multiply-adds");
  for (const LayerSummary& row : rows) {
    table.add_row({row.layer, row.op, row.output.str(), format_count(row.parameters),
                   format_count(row.multiply_adds)});
  }
  return table.str();
}

std::string input_of(const ModelSummary& summary) {
  if (translates(summary.model)) {
    return fmt::format("pairs of {} words: {} per pair", summary.sentence_words,
                       text_of(summary.all));
  }
  if (summary.of_text()) {
    return fmt::format("windows of {} words: {} per window", summary.sentence_words,
                       text_of(summary.all));
  }
  const ModelShape& shape = summary.shape;
  return fmt::format("images of {} x {} x {}: {} per image", shape.channels, shape.height,
                     shape.width, text_of(summary.all));
}

std::string text_of(const ModelSummary& summary) {
  std::string text =
      table_of(summary.layers) + fmt::format("{} for {}\n", summary.model, input_of(summary));
  if (summary.auxiliary_heads.parameters > 0) {
    text += fmt::format("of these in auxiliary heads, for training only: {}\n",
                        text_of(summary.auxiliary_heads));
  }
  if (summary.all.trained < summary.all.parameters) {
    text += fmt::format("frozen are {} parameters; trained are {}\n",
                        format_count(summary.all.parameters - summary.all.trained),
                        format_count(summary.all.trained));
  }
  return text;
}

struct SummaryArguments {
  ModelOptions model;
  StepOptions step;
  std::int64_t sentence_words = 30;
};

CommandResult run(const OptionList& list, const SummaryArguments& arguments) {
  const ModelOptions& options = arguments.model;
  check_given(list, options.model);
  list.check_rules();
  ModelSummary summary{.model = options.model,
                       .shape = shape_of(options),
                       .sentence_words = arguments.sentence_words};
  DryRunOptions program = dry_run_options(options, arguments.step, false);
  program.sentence_words = arguments.sentence_words;
  if (!translates(options.model)) {
    summary.sentence_words = static_cast<std::int64_t>(program.window_length);
  }
  const auto& frozen = program.step.frozen;
  summary.layers = summary.of_text()
                       ? summarize(program, frozen)
                       : summarize(find_model(options.model), summary.shape, 1, frozen);
  for (const LayerSummary& row : summary.layers) {
    add(summary.all, row);
    if (row.auxiliary) add(summary.auxiliary_heads, row);
  }
  return told(summary, text_of(summary));
}

}  // namespace

CommandRun declare_summary(OptionList& list) {
  const auto arguments = std::make_shared<SummaryArguments>();
  add_model_options(list, arguments->model);
  list.add("--sentence-words", integer(arguments->sentence_words, 1, 10'000),
           "Words per sentence of seq2seq, source and target", kTranslationOnly);
  add_freezing_options(list, arguments->step);
  list.prints(keys<ModelSummary>);
  return [&list, arguments](Console&) { return run(list, *arguments); };
}

}  // namespace skyline
