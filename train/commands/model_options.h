#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/cli/usage_error.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/options/step_options.h"
#include "train/options/text_options.h"

namespace skyline {

class OptionList;

// A model without data, for commands that run dry.
struct ModelOptions {
  std::string model = "lenet";
  std::string optimizer;                                  // empty: the model's default
  std::optional<std::int64_t> classes, insize, channels;  // unset: the model's default
  TextOptions text;
};

// Adds --model, --classes, --insize and --channels, and for text --vocab-size and the options of
// networks.
void add_model_options(OptionList& list, ModelOptions& options);

// Returns the shape of an image model; meaningless for text.
ModelShape shape_of(const ModelOptions& options);
// Returns the shape of seq2seq, with vocabularies of --vocab-size words.
Seq2SeqShape translation_shape_of(const ModelOptions& options);
// Returns a dry run of the model, with the optimizer that training would use.
DryRunOptions dry_run_options(const ModelOptions& options, const StepOptions& step, bool infer);

// Returns what `act` returns. A ShapeError comes from --insize or --channels that the model cannot
// take, so it becomes a UsageError.
template <typename Act>
auto or_refused(const Act& act) {
  try {
    return act();
  } catch (const ShapeError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace skyline
