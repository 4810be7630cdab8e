#include "train/commands/model_options.h"

#include <vector>

#include "train/cli/option_list.h"

namespace skyline {

void add_model_options(OptionList& list, ModelOptions& options) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) names.emplace_back(entry.name);
  list.add("--model", choice(options.model, names, "model"), "Network");
  list.add("--classes", integer(options.classes, 1, 1'000'000),
           "Number of classes (default: the paper's)");
  list.add("--insize", integer(options.insize, 1, 32'768),
           "Height and width of the images (default: the paper's)");
  list.add("--channels", integer(options.channels, 1, 4096),
           "Channels of the images (default: the paper's)");
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
