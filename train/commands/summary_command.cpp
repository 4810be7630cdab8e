#include <fmt/format.h>

#include <memory>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

void add(ModelTotals& totals, const LayerSummary& row) {
  totals.parameters += row.parameters;
  totals.multiply_adds += row.multiply_adds;
}

std::string text_of(const ModelTotals& totals) {
  return fmt::format("{} parameters and {} multiply-adds", format_count(totals.parameters),
                     format_count(totals.multiply_adds));
}

std::string table_of(const std::vector<LayerSummary>& rows) {
  Table table({{"layer", Align::kLeft},
               {"op", Align::kLeft},
               {"output", Align::kLeft},
               {"parameters"},
               {"multiply-adds"}});
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
  return text;
}

struct SummaryArguments {
  ModelOptions model;
  std::int64_t sentence_words = 30;
};

CommandResult run(const OptionList& list, const SummaryArguments& arguments) {
  const ModelOptions& options = arguments.model;
  check_given(list, options.model);
  ModelSummary summary{.model = options.model,
                       .shape = shape_of(options),
                       .sentence_words = arguments.sentence_words};
  summary.layers = translates(options.model)
                       ? summarize(translation_shape_of(options), arguments.sentence_words)
                       : summarize(find_model(options.model), summary.shape);
  for (const LayerSummary& row : summary.layers) {
    add(summary.all, row);
    if (row.auxiliary) add(summary.auxiliary_heads, row);
  }
  return {.json = json_of(summary), .text = text_of(summary)};
}

}  // namespace

CommandRun declare_summary(OptionList& list) {
  const auto arguments = std::make_shared<SummaryArguments>();
  add_model_options(list, arguments->model);
  list.add("--sentence-words", integer(arguments->sentence_words, 1, 10'000),
           "Words per sentence of seq2seq, source and target", kTextOnly);
  return [&list, arguments](Console&) { return run(list, *arguments); };
}

}  // namespace skyline
