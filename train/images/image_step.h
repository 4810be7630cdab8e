#pragma once

#include <cstddef>
#include <vector>

#include "data/loader.h"
#include "framework/context.h"
#include "models/model.h"

namespace skyline {

// The names that steps of this batch size give to their shapes.
ShapeKey training_key(std::size_t batch_size);
ShapeKey inference_key(std::size_t batch_size);

// Bytes on the device for the images and labels of a batch, each rounded.
std::size_t input_bytes(const Model& model, std::size_t batch_size);

// The forward pass of a batch up to its mean loss f32 [1]: images and labels uploaded, the model,
// softmax cross-entropy. The loss of each auxiliary head is added with its weight. In a dry run the
// batch needs no images.
Tensor forward_loss(Context& context, const Model& model, const Batch& batch);

// What an inference step gives; nothing in a dry run.
struct Inference {
  std::vector<float> logits;  // [batch.size, classes], row by row
  float loss = 0;             // the mean over the batch
};

// One inference step, with labels and loss, as evaluations run it. Throws ShapeError, LabelError,
// OutOfMemory.
Inference inference_step(Context& context, const Model& model, const Batch& batch);

}  // namespace skyline
