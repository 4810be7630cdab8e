#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/gpt.h"
#include "models/model.h"
#include "models/seq2seq.h"
#include "train/options/step_options.h"
#include "train/run/dry_run.h"

namespace skyline {

// A model without data, and the settings of its dry run.
struct DryRunOptions {
  std::string model = "lenet";       // an image model, seq2seq or a gpt
  ModelShape shape;                  // image models only
  Seq2SeqShape translation;          // seq2seq only
  std::int64_t sentence_words = 30;  // seq2seq: words per sentence, source and target
  GptShape gpt = {};                 // gpts only
  std::size_t window_length = 64;    // gpts: words of a window
  std::int64_t batch_size = 32;
  Mode mode = Mode::kTraining;
  OptimizerOptions optimizer = {};
  StepOptions step = {};
  Savings savings = {};   // besides what the options find
  std::size_t ranks = 1;  // that train together; the dry run is of rank 0
  SumBuckets buckets = {};
  bool shard_optimizer = false;
  bool guard = false;
  bool prefetch = false;
  bool input_gradient = false;            // of the images
  std::shared_ptr<Compute> compute = {};  // null: the CPU
  Emulation emulate = {};                 // with chainer_ops, see as_chainer()
};

// Makes a run without memory. Training mode includes gradients and the optimizer. Throws
// ShapeError.
std::unique_ptr<ModelRun> make_run(const DryRunOptions& options);
DryRun make_dry_run(const DryRunOptions& options);

// Runs one step and records it with its graph. Throws ShapeError.
DryRunFacts dry_run(const DryRunOptions& options);

}  // namespace skyline
