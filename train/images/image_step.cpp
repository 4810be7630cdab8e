#include "train/images/image_step.h"

#include <array>
#include <utility>

#include "framework/ops/loss/softmax.h"
#include "framework/ops/math/arithmetic.h"
#include "memory/alignment.h"
#include "train/run/step_scope.h"

namespace skyline {
namespace {

std::array<TensorSpec, 2> input_specs(const Model& model, std::size_t batch_size) {
  const ModelShape& shape = model.shape();
  const auto size = static_cast<std::int64_t>(batch_size);
  return {{{{size, shape.channels, shape.height, shape.width}}, {{size}, DType::kInt32}}};
}

// A batch on the device. Callers move its tensors out, so that each is freed by its last reader.
struct Uploaded {
  Uploaded(Context& context, const Model& model, const Batch& batch,
           const AfterUpload& after_upload) {
    const auto [images_spec, labels_spec] = input_specs(model, batch.size);
    images = context.upload(images_spec, batch.images.data(), "images");
    labels = context.upload(labels_spec, batch.labels.data(), "labels");
    if (after_upload) after_upload();
  }
  Tensor images, labels;
};

float read_scalar(Context& context, Tensor scalar) {
  float value = 0;
  context.download(std::move(scalar), &value);
  return value;
}

}  // namespace

ShapeKey training_key(std::size_t batch_size) { return batch_size; }
ShapeKey inference_key(std::size_t batch_size) { return {batch_size, StepKind::kInference}; }

std::size_t input_bytes(const Model& model, std::size_t batch_size) {
  std::size_t bytes = 0;
  for (const TensorSpec& input : input_specs(model, batch_size)) {
    bytes += align_up(input.bytes(), kAlignmentBytes);
  }
  return bytes;
}

Tensor forward_loss(Context& context, const Model& model, const Batch& batch,
                    const AfterUpload& after_upload) {
  Uploaded uploaded(context, model, batch, after_upload);
  Prediction prediction = model.forward(context, std::move(uploaded.images));
  const LayerScope scope(context, "loss");
  Tensor loss = softmax_cross_entropy(context, std::move(prediction.logits), uploaded.labels);
  for (AuxiliaryLogits& head : prediction.auxiliary) {
    Tensor auxiliary = softmax_cross_entropy(context, std::move(head.logits), uploaded.labels);
    loss = add_scaled(context, std::move(loss), std::move(auxiliary), {.scale = head.weight});
  }
  return loss;
}

Inference inference_step(Context& context, const Model& model, const Batch& batch,
                         const AfterUpload& after_upload) {
  // In training mode, the staging memory of training steps is large enough.
  if (!context.training()) context.stage_uploads(input_bytes(model, batch.size));
  const ModeScope mode(context, Mode::kInference);
  StepScope step(context, inference_key(batch.size));
  Uploaded uploaded(context, model, batch, after_upload);
  Tensor logits = model.forward(context, std::move(uploaded.images)).logits;
  Inference inference;
  if (context.options().execute) {
    inference.logits.resize(static_cast<std::size_t>(logits.shape().elements()));
  }
  context.download(logits, inference.logits.data());
  inference.loss = read_scalar(
      context, softmax_cross_entropy(context, std::move(logits), std::move(uploaded.labels)));
  step.end();
  return inference;
}

}  // namespace skyline
