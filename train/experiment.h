#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "framework/context.h"
#include "models/models.h"
#include "train/memory_chain.h"
#include "train/sgd.h"
#include "train/training_step.h"

namespace skyline {

// A model with its memory and, in training mode, its optimizer: what every command runs steps of.
struct Experiment {
  Experiment(const MemoryOptions& memory_options, const Context::Options& context_options,
             const ModelEntry& entry, const ModelShape& shape);

  // One training step, or one inference step in inference mode, which leaves `params` unread; the
  // loss, 0 in a dry run.
  float step(const Batch& batch, const SgdParams& params);

  MemoryChain memory;
  Context context;
  std::unique_ptr<Model> model;
  std::optional<Sgd> optimizer;      // none in inference mode
  std::uint64_t resident_bytes = 0;  // rounded; parameters, gradients, optimizer and running values
};

}  // namespace skyline
