#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/model.h"
#include "models/seq2seq.h"
#include "train/options/step_options.h"
#include "train/run/dry_run.h"

namespace skyline {

// A model without data, and how to run its steps dry.
struct DryRunOptions {
  std::string model = "lenet";       // of images, or seq2seq
  ModelShape shape;                  // of a model of images
  Seq2SeqShape translation;          // of seq2seq
  std::int64_t sentence_words = 30;  // seq2seq: in each sentence of a batch, on both sides
  std::int64_t batch_size = 32;
  Mode mode = Mode::kTraining;
  OptimizerOptions optimizer = {};
  StepOptions step = {};
  bool guard = false;
  bool prefetch = false;
  std::shared_ptr<Compute> compute = {};  // null: the CPU
  // What every convolution asks for, forward and backward; unset: what the backend needs.
  std::optional<std::uint64_t> convolution_workspace_bytes = {};
};

// In training mode with gradients and optimizer. Throws ShapeError.
DryRun make_dry_run(const DryRunOptions& options);

// Runs one step and records it, graph included. Throws ShapeError.
DryRunFacts dry_run(const DryRunOptions& options);

}  // namespace skyline
