#include "train/commands/model_options.h"

#include <vector>

#include "train/cli/option_types.h"

namespace skyline {

void add_model_options(CLI::App& app, ModelOptions& options) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) names.emplace_back(entry.name);
  add_choice(app, "--model", options.model, names, "model", "Which network");
  add_integer(app, "--classes", options.classes, 1, 1'000'000, "Classes; the paper's otherwise");
  add_integer(app, "--insize", options.insize, 1, 32'768,
              "Height and width of the images; the paper's otherwise");
  add_integer(app, "--channels", options.channels, 1, 4096,
              "Channels of the images; the paper's otherwise");
}

ModelShape shape_of(const ModelOptions& options) {
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
