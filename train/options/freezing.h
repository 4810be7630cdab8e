#pragma once

#include <string>
#include <vector>

#include "train/options/gpt_options.h"
#include "train/options/step_options.h"
#include "train/options/translation_options.h"

namespace skyline {

// Returns the names of the parameters that --freeze and --train-last leave as they are in a network
// of this model. A layer's name is that of files (PyTorch's) or, where no file's name fits, that of
// `summary`; it stands for all inside it, and * and ? for any characters. Throws UsageError for a
// name that fits nothing, and if nothing is left to train.
std::vector<std::string> frozen_parameters(const StepOptions& step, const std::string& model,
                                           const TranslationOptions& translation,
                                           const GptOptions& gpt = {});

}  // namespace skyline
