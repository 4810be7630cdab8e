#include <fmt/format.h>

#include <memory>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"

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

std::string text_of(const ModelSummary& summary) {
  const ModelShape& shape = summary.shape;
  std::string text = table_of(summary.layers) +
                     fmt::format("{} for images of {} x {} x {}: {} per image\n", summary.model,
                                 shape.channels, shape.height, shape.width, text_of(summary.all));
  if (summary.auxiliary_heads.parameters > 0) {
    text += fmt::format("of these in auxiliary heads, for training only: {}\n",
                        text_of(summary.auxiliary_heads));
  }
  return text;
}

CommandResult run(const ModelOptions& options) {
  ModelSummary summary{.model = options.model, .shape = shape_of(options)};
  summary.layers = summarize(find_model(options.model), summary.shape);
  for (const LayerSummary& row : summary.layers) {
    add(summary.all, row);
    if (row.auxiliary) add(summary.auxiliary_heads, row);
  }
  return {.json = json_of(summary), .text = text_of(summary)};
}

}  // namespace

CommandRun declare_summary(OptionList& list) {
  const auto options = std::make_shared<ModelOptions>();
  add_model_options(list, *options);
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
