#include "train/training_step.h"

#include <cmath>
#include <string>
#include <utility>

#include "framework/autograd.h"
#include "framework/ops/softmax_cross_entropy.h"

namespace skyline {
namespace {

TensorSpec images_spec(const Model& model, const Batch& batch) {
  const ModelShape& shape = model.shape();
  return {{static_cast<std::int64_t>(batch.size), shape.channels, shape.height, shape.width}};
}

}  // namespace

LossNotFinite::LossNotFinite(float loss)
    : std::runtime_error("the loss is " + std::to_string(loss)), loss_(loss) {}

ShapeKey training_key(std::size_t batch_size) { return 2 * ShapeKey{batch_size}; }
ShapeKey inference_key(std::size_t batch_size) { return 2 * ShapeKey{batch_size} + 1; }

Tensor forward_loss(Context& context, const Model& model, const Batch& batch) {
  Tensor images = context.upload(images_spec(model, batch), batch.images.data(), "images");
  Tensor logits = model.forward(context, std::move(images));
  const TensorSpec labels_spec{{static_cast<std::int64_t>(batch.size)}, DType::kInt32};
  Tensor labels = context.upload(labels_spec, batch.labels.data(), "labels");
  const LayerScope scope(context, "loss");
  return softmax_cross_entropy(context, std::move(logits), std::move(labels));
}

float training_step(Context& context, const Model& model, const Sgd& optimizer, const Batch& batch,
                    const SgdParams& params) {
  StepScope step(context, training_key(batch.size));
  Tensor loss = forward_loss(context, model, batch);
  float value = 0;
  context.download(loss, &value);
  if (!std::isfinite(value)) throw LossNotFinite(value);
  backward(context, std::move(loss));
  optimizer.update(context, params);
  step.end();
  return value;
}

std::vector<float> inference_step(Context& context, const Model& model, const Batch& batch) {
  const ModeScope mode(context, Mode::kInference);
  StepScope step(context, inference_key(batch.size));
  Tensor images = context.upload(images_spec(model, batch), batch.images.data(), "images");
  Tensor logits = model.forward(context, std::move(images));
  std::vector<float> host(static_cast<std::size_t>(logits.shape().elements()));
  context.download(std::move(logits), host.data());
  step.end();
  return host;
}

}  // namespace skyline
