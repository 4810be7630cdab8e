#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>

#include "framework/context.h"
#include "train/optimizers/optimizer.h"

namespace skyline {

// The loss of a batch is NaN or infinite.
class LossNotFinite : public std::runtime_error {
 public:
  explicit LossNotFinite(float loss, std::size_t batch = 0);
  float loss() const noexcept { return loss_; }
  std::size_t batch() const noexcept { return batch_; }  // of the step, counted from 0

 private:
  float loss_;
  std::size_t batch_;
};

// The batches of a step as training_step() needs them.
struct StepBatches {
  ShapeKey key = 0;             // identifies the batches' shapes
  std::size_t input_bytes = 0;  // of all uploads, each rounded
  // Uploads a batch, counted from 0, and computes its loss f32 [1].
  std::function<Tensor(std::size_t batch)> forward_loss;
};

// Runs a whole training step: forward, reading back the loss and backward for each of the context's
// micro_batches, and one update. Returns the mean of their losses, 0 in a dry run. The update sees
// ((g1 + g2) + g3) + …, where g is the whole gradient of a batch's share of that mean. Every
// value's last holder is an op, so the recorded trace equals the simulated one. Gradients and
// updates run in the order that the context's options choose. Throws LossNotFinite before anything
// but gradients and running statistics has changed, OutOfMemory, and what the ops throw.
float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    const StepBatches& batches);

}  // namespace skyline
