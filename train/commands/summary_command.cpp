#include <fmt/format.h>

#include <memory>

#include "train/cli/table.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/lab/model_summary.h"

namespace skyline {
namespace {

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::ptrdiff_t i = std::ssize(text) - 3; i > 0; i -= 3) {
    text.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return text;
}

struct Totals {
  std::int64_t parameters = 0, multiply_adds = 0;

  void add(const LayerSummary& row) {
    parameters += row.parameters;
    multiply_adds += row.multiply_adds;
  }
  std::string str() const {
    return fmt::format("{} parameters and {} multiply-adds", grouped(parameters),
                       grouped(multiply_adds));
  }
};

nlohmann::ordered_json to_json(const LayerSummary& row) {
  nlohmann::ordered_json extents = nlohmann::ordered_json::array();
  for (int axis = 0; axis < row.output.rank(); ++axis) extents.push_back(row.output[axis]);
  return {{"layer", row.layer},
          {"op", row.op},
          {"output", extents},
          {"parameters", row.parameters},
          {"multiply_adds", row.multiply_adds},
          {"auxiliary", row.auxiliary}};
}

std::string table_of(const std::vector<LayerSummary>& rows) {
  Table table({{"layer", Align::kLeft},
               {"op", Align::kLeft},
               {"output", Align::kLeft},
               {"parameters"},
               {"multiply-adds"}});
  for (const LayerSummary& row : rows) {
    table.add_row(
        {row.layer, row.op, row.output.str(), grouped(row.parameters), grouped(row.multiply_adds)});
  }
  return table.str();
}

CommandResult run(const ModelOptions& options) {
  const ModelShape shape = shape_of(options);
  const std::vector<LayerSummary> rows = summarize(find_model(options.model), shape);
  Totals all, heads;
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerSummary& row : rows) {
    all.add(row);
    if (row.auxiliary) heads.add(row);
    layers.push_back(to_json(row));
  }
  CommandResult result;
  result.json = {{"model", options.model},
                 {"input", {shape.channels, shape.height, shape.width}},
                 {"classes", shape.classes},
                 {"parameters", all.parameters},
                 {"multiply_adds", all.multiply_adds},
                 {"auxiliary_parameters", heads.parameters},
                 {"auxiliary_multiply_adds", heads.multiply_adds},
                 {"layers", layers}};
  result.text =
      table_of(rows) + fmt::format("{} for images of {} x {} x {}: {} an image\n", options.model,
                                   shape.channels, shape.height, shape.width, all.str());
  if (heads.parameters > 0) {
    result.text += fmt::format("of these in auxiliary heads, for training only: {}\n", heads.str());
  }
  return result;
}

}  // namespace

CommandRun declare_summary(CLI::App& app) {
  const auto options = std::make_shared<ModelOptions>();
  add_model_options(app, *options);
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
