#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/model_summary.h"
#include "train/table.h"

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

CommandResult run(const ModelOptions& options) {
  const ModelEntry& entry = find_model(options.model);
  const ModelShape shape = shape_of(options);
  CommandResult result;
  std::int64_t parameters = 0, multiply_adds = 0;
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  Table table({{"layer", Align::kLeft},
               {"op", Align::kLeft},
               {"output", Align::kLeft},
               {"parameters"},
               {"multiply-adds"}});
  for (const LayerSummary& row : summarize(entry, shape)) {
    parameters += row.parameters;
    multiply_adds += row.multiply_adds;
    nlohmann::ordered_json extents = nlohmann::ordered_json::array();
    for (int axis = 0; axis < row.output.rank(); ++axis) extents.push_back(row.output[axis]);
    layers.push_back({{"layer", row.layer},
                      {"op", row.op},
                      {"output", extents},
                      {"parameters", row.parameters},
                      {"multiply_adds", row.multiply_adds}});
    table.add_row(
        {row.layer, row.op, row.output.str(), grouped(row.parameters), grouped(row.multiply_adds)});
  }
  result.json = {
      {"model", options.model},         {"input", {shape.channels, shape.height, shape.width}},
      {"classes", shape.classes},       {"parameters", parameters},
      {"multiply_adds", multiply_adds}, {"layers", layers}};
  result.text = table.str() + fmt::format(
                                  "{} for images of {} x {} x {}: {} parameters, {} "
                                  "multiply-adds an image\n",
                                  options.model, shape.channels, shape.height, shape.width,
                                  grouped(parameters), grouped(multiply_adds));
  return result;
}

}  // namespace

CommandRun declare_summary(CLI::App& app) {
  const auto options = std::make_shared<ModelOptions>();
  add_model_options(app, *options);
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
