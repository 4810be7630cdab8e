#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/models.h"

namespace skyline {

class OptionList;

// A model without data, for commands that compute nothing.
struct ModelOptions {
  std::string model = "lenet";
  std::optional<std::int64_t> classes, insize, channels;  // unset: the model's own
};

// --model, --classes, --insize, --channels.
void add_model_options(OptionList& list, ModelOptions& options);

ModelShape shape_of(const ModelOptions& options);

}  // namespace skyline
