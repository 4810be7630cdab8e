#pragma once

#include <memory>
#include <optional>
#include <span>

#include "models/models.h"
#include "train/images/image_step.h"
#include "train/optimizers/sgd.h"
#include "train/run/model_run.h"

namespace skyline {

// A model of images with its memory and, in training mode, its optimizer: what every command runs
// steps of.
class Experiment : public Workplace {
 public:
  Experiment(const MemoryOptions& memory_options, const Context::Options& context_options,
             const ModelEntry& entry, const ModelShape& shape);

  // One training step, or one inference step in inference mode, which leaves `params` unread; the
  // loss, 0 in a dry run.
  float step(const Batch& batch, const SgdParams& params);

  const Network& network() const override { return *model; }
  std::span<const Buffer> optimizer_state() const override;

  std::unique_ptr<Model> model;
  std::optional<Sgd> optimizer;  // none in inference mode
};

}  // namespace skyline
