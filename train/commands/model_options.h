#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/models.h"
#include "train/optimizers/optimizer.h"
#include "train/options/step_options.h"
#include "train/options/translation_options.h"

namespace skyline {

class OptionList;

// A model without data, for commands that compute nothing.
struct ModelOptions {
  std::string model = "lenet";
  std::string optimizer;                                  // empty: the model's default
  std::optional<std::int64_t> classes, insize, channels;  // unset: the model's own
  TranslationOptions translation;                         // of seq2seq
};

// --model, --classes, --insize, --channels; for seq2seq --vocab-size and the options of its
// network.
void add_model_options(OptionList& list, ModelOptions& options);

// The shape of a model of images; no meaning for seq2seq.
ModelShape shape_of(const ModelOptions& options);
// The shape of seq2seq, with vocabularies of --vocab-size words.
Seq2SeqShape translation_shape_of(const ModelOptions& options);
// The optimizer that training has, with --clip for seq2seq.
OptimizerOptions optimizer_of(const ModelOptions& options, const StepOptions& step);

}  // namespace skyline
