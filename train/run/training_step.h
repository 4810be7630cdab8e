#pragma once

#include <cstddef>
#include <stdexcept>

#include "framework/context.h"
#include "framework/ops/loss/softmax.h"
#include "train/optimizers/optimizer.h"
#include "train/run/step_shares.h"

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

// The batches of this process in a step.
class StepBatches {
 public:
  virtual ~StepBatches() = default;
  virtual ShapeKey shape_key() const = 0;       // identifies the batches' shapes
  virtual std::size_t input_bytes() const = 0;  // of all uploads, each rounded
  // Uploads a batch, counted from 0, and computes its loss f32 [1], with the probabilities of
  // classes where it has any. Ask for batches in their order; the last one may be asked for again.
  virtual CrossEntropy loss_of(std::size_t batch) = 0;
  // Called between the loss of a batch, which the host has, and its gradients: may read the
  // probabilities, and do what not every step does, in an InterruptionScope.
  virtual void examine(std::size_t, const Tensor& /*probabilities*/) {}
};

// Runs a whole training step: forward, reading back the loss and backward for each batch of this
// process, and one update. Returns the mean of the losses of all processes, 0 in a dry run. The
// update sees ((g1 + g2) + g3) + …, where g is the whole gradient of a batch's share of that mean.
// The program keeps no tensor after its last op, so values die exactly where the step graph says,
// and the recorded trace equals the simulated one. Gradients and updates run in the order that the
// context's options choose. Throws LossNotFinite before anything but gradients and running
// statistics has changed, OutOfMemory, and what the ops throw.
float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    StepBatches& batches, const StepShares& shares = {});

}  // namespace skyline
