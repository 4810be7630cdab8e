#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "data/loader.h"
#include "framework/context.h"
#include "models/model.h"

namespace skyline {

// Shape keys of training and inference steps with this batch size.
ShapeKey training_key(std::size_t batch_size);
ShapeKey inference_key(std::size_t batch_size);

// Device bytes for the images and labels of a batch, each rounded.
std::size_t input_bytes(const Model& model, std::size_t batch_size);

// Called once the batch has been copied, so that its memory may serve another one; may be empty.
using AfterUpload = std::function<void()>;

// Runs the forward pass of a batch and returns its mean loss f32 [1]: uploads images and labels,
// runs the model, then softmax cross-entropy. Adds the loss of each auxiliary head with its weight.
// In a dry run the batch needs no images.
Tensor forward_loss(Context& context, const Model& model, const Batch& batch,
                    const AfterUpload& after_upload = {});

// Result of an inference step; no logits and loss 0 in a dry run.
struct Inference {
  std::vector<float> logits;  // [batch.size, classes], row by row
  float loss = 0;             // mean over the batch
};

// Runs one inference step with labels and loss, as evaluations do. Throws ShapeError, LabelError,
// OutOfMemory.
Inference inference_step(Context& context, const Model& model, const Batch& batch,
                         const AfterUpload& after_upload = {});

}  // namespace skyline
