#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/shape.h"
#include "models/models.h"
#include "train/cli/figures.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {

// One op of a model's forward pass.
struct LayerSummary {
  std::string layer;  // "conv2_1.conv1"; empty for ops outside layers
  std::string op;
  Shape output;
  std::int64_t parameters = 0, trained = 0;  // all of them, and those that are not frozen
  std::int64_t multiply_adds = 0;            // of convolutions and matrix products, without biases
  bool auxiliary = false;                    // part of a head used only in training
};

// Returns a model's ops in forward order, including auxiliary heads. Figures are for the whole
// batch of `batch_size` images. `frozen` names parameters. Computes nothing and allocates nothing.
// Throws ShapeError.
std::vector<LayerSummary> summarize(const ModelEntry& entry, const ModelShape& shape,
                                    std::int64_t batch_size = 1,
                                    std::span<const std::string> frozen = {});
// The same for a model of text, up to the logits, of one window or one pair of sentences; as
// always, the decoder reads one word more than the sentence has.
std::vector<LayerSummary> summarize(const DryRunOptions& text_model,
                                    std::span<const std::string> frozen = {});

}  // namespace skyline
