#pragma once

#include <stdexcept>
#include <vector>

#include "data/loader.h"
#include "framework/context.h"
#include "models/model.h"
#include "train/optimizers/sgd.h"

namespace skyline {

// Bounds one step of a context; a step that does not reach end() is abandoned.
class StepScope {
 public:
  StepScope(Context& context, ShapeKey key) : context_(context) { context_.begin_step(key); }
  ~StepScope() {
    if (!ended_) context_.allocator().abandon_step();
  }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;
  void end() {
    ended_ = true;
    context_.end_step();
  }

 private:
  Context& context_;
  bool ended_ = false;
};

// Sets a context's mode for its life.
class ModeScope {
 public:
  ModeScope(Context& context, Mode mode) : context_(context), before_(context.options().mode) {
    context_.set_mode(mode);
  }
  ~ModeScope() { context_.set_mode(before_); }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  Context& context_;
  Mode before_;
};

// The loss of a step is NaN or infinite.
class LossNotFinite : public std::runtime_error {
 public:
  explicit LossNotFinite(float loss);
  float loss() const noexcept { return loss_; }

 private:
  float loss_;
};

// The names that steps of this batch size give to their shapes.
ShapeKey training_key(std::size_t batch_size);
ShapeKey inference_key(std::size_t batch_size);

// What the images and labels of a batch need on the device, each rounded.
std::size_t input_bytes(const Model& model, std::size_t batch_size);

// The forward pass of a batch up to its mean loss f32 [1]: images and labels uploaded, the model,
// softmax cross-entropy; each auxiliary head's is added by its weight.
Tensor forward_loss(Context& context, const Model& model, const Batch& batch);

// One whole training step: forward, the loss read back, backward, update. Every value's last holder
// is an op, so that the recorded trace is the simulated one. Returns the loss, the mean over the
// batch. In a dry run the batch needs no images and the loss is 0. With fused_update each parameter
// is updated within backward.
// Throws LossNotFinite before anything but running statistics has changed; ShapeError, LabelError,
// OutOfMemory.
float training_step(Context& context, const Model& model, const Sgd& optimizer, const Batch& batch,
                    const SgdParams& params);

// What an inference step gives; nothing in a dry run.
struct Inference {
  std::vector<float> logits;  // [batch.size, classes], row by row
  float loss = 0;             // the mean over the batch
};

// One inference step, with labels and loss, as evaluations are run. Throws ShapeError, LabelError,
// OutOfMemory.
Inference inference_step(Context& context, const Model& model, const Batch& batch);

}  // namespace skyline
