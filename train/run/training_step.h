#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>

#include "framework/context.h"
#include "train/optimizers/optimizer.h"

namespace skyline {

// The loss of a step is NaN or infinite.
class LossNotFinite : public std::runtime_error {
 public:
  explicit LossNotFinite(float loss);
  float loss() const noexcept { return loss_; }

 private:
  float loss_;
};

// A batch as training_step() needs it.
struct BatchStep {
  ShapeKey key = 0;                      // identifies the batch's shapes
  std::size_t input_bytes = 0;           // of its uploads, each rounded
  std::function<Tensor()> forward_loss;  // uploads the batch and computes its loss f32 [1]
};

// Runs a whole training step: forward, reading back the loss, backward, update. Returns the loss, 0
// in a dry run. Every value's last holder is an op, so the recorded trace equals the simulated one.
// Gradients and updates run in the order that the context's options choose. Throws
// LossNotFinite before anything but running statistics has changed, OutOfMemory, and what the ops
// throw.
float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    const BatchStep& batch);

}  // namespace skyline
