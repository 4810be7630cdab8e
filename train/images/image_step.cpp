#include "train/images/image_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "data/host.h"
#include "framework/apply.h"
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

// Repeats a batch's own images until it has `size` of them.
void fill_up(Batch& batch, std::size_t size) {
  const std::size_t image = batch.images.size() / batch.size;
  const std::size_t real = batch.size;
  batch.images.resize(size * image);
  batch.labels.resize(size);
  for (std::size_t i = real; i < size; ++i) {
    std::copy_n(batch.images.begin() + static_cast<std::ptrdiff_t>((i % real) * image), image,
                batch.images.begin() + static_cast<std::ptrdiff_t>(i * image));
    batch.labels[i] = batch.labels[i % real];
  }
  batch.size = size;
}

// Returns how many logits rank before the label's: larger ones, equal ones of lower classes, and
// NaNs.
int rank_of(std::span<const float> row, std::size_t label) {
  int before = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (j < label && !(row[j] < row[label])) ++before;
    if (j > label && !(row[j] <= row[label])) ++before;
  }
  return before;
}

// Returns −log softmax of the label.
double cross_entropy(std::span<const float> row, std::size_t label) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - most);
  return std::log(sum) + most - row[label];
}

void count(Accuracy& accuracy, std::span<const float> row, std::int32_t label) {
  if (label == kNotCounted) {
    ++accuracy.not_counted;
    return;
  }
  const int rank = rank_of(row, static_cast<std::size_t>(label));
  accuracy.correct += rank == 0 ? 1 : 0;
  accuracy.correct_top5 += rank < kTopGuesses ? 1 : 0;
  accuracy.loss_sum += cross_entropy(row, static_cast<std::size_t>(label));
  ++accuracy.total;
}

// Runs a network over a data set, one batch after another of those that this process has.
class ImageBatches {
 public:
  ImageBatches(Context& context, const Model& model, const Dataset& dataset,
               const EvaluationBatches& batches, const BatchShare& share = {})
      : context_(context), model_(model), dataset_(dataset), batches_(batches), share_(share) {
    batches_.batch_size = std::min(batches.batch_size, dataset.size());
    if (batches_.batch_size == 0) open();  // throws DataError
  }

  // Of the whole data set.
  std::size_t count() const {
    return (dataset_.size() + batches_.batch_size - 1) / batches_.batch_size;
  }
  std::size_t first_of(std::size_t batch) const { return batch * batches_.batch_size; }
  std::size_t end_of(std::size_t batch) const {
    return std::min(first_of(batch + 1), dataset_.size());
  }

  // Runs the process's next batch, which is `batch` of the data set.
  void next(std::size_t batch, const LogitsVisitor& visit) {
    if (!loader_) open();
    loader_->next(batch_);
    const std::size_t real = batch_.size;
    if (real < batches_.batch_size) fill_up(batch_, batches_.batch_size);
    const std::vector<std::int32_t> labels = batch_.labels;
    std::ranges::replace(batch_.labels, kNotCounted, 0);  // the loss needs a valid class
    const std::vector<float> logits =
        inference_step(context_, model_, batch_, [&] { loader_->give_back(batch_); }).logits;
    const std::size_t classes = logits.size() / batch_.size;
    for (std::size_t row = 0; row < real; ++row) {
      visit(first_of(batch) + row, std::span(logits).subspan(row * classes, classes), labels[row]);
    }
  }

 private:
  void open() {
    loader_.emplace(dataset_,
                    LoaderOptions{.batch_size = batches_.batch_size,
                                  .shuffle = false,
                                  .drop_last = false,
                                  .threads = batches_.decode_threads,
                                  .share = share_},
                    RandomBits{});
  }

  Context& context_;
  const Model& model_;
  const Dataset& dataset_;
  EvaluationBatches batches_;
  BatchShare share_;
  std::optional<Loader> loader_;  // a process may have no batch
  Batch batch_;
};

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

CrossEntropy forward_loss(Context& context, const Model& model, const Batch& batch,
                          const AfterUpload& after_upload, const TrainingLoss& judged) {
  Uploaded uploaded(context, model, batch, after_upload);
  if (judged.input_gradient) {
    uploaded.images = require_gradient(context, std::exchange(uploaded.images, {}), "images");
  }
  Prediction prediction = model.forward(context, std::move(uploaded.images));
  const LayerScope scope(context, "loss");
  const auto of_head = [&](Tensor& logits) {
    return cross_entropy(context, std::move(logits), uploaded.labels, judged.class_weights,
                         {.smoothing = judged.smoothing});
  };
  CrossEntropy result = of_head(prediction.logits);
  for (AuxiliaryLogits& head : prediction.auxiliary) {
    Tensor auxiliary = of_head(head.logits).loss;
    result.loss =
        add_scaled(context, std::move(result.loss), std::move(auxiliary), {.scale = head.weight});
  }
  return result;
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
  if (context.executes()) {
    inference.logits.resize(static_cast<std::size_t>(logits.shape().elements()));
  }
  context.download(logits, inference.logits.data());
  inference.loss = read_scalar(
      context, softmax_cross_entropy(context, std::move(logits), std::move(uploaded.labels)));
  step.end();
  return inference;
}

Accuracy& Accuracy::operator+=(const Accuracy& other) {
  correct += other.correct;
  correct_top5 += other.correct_top5;
  total += other.total;
  not_counted += other.not_counted;
  loss_sum += other.loss_sum;
  return *this;
}

void for_each_image(Context& context, const Model& model, const Dataset& dataset,
                    EvaluationBatches batches, const LogitsVisitor& visit) {
  ImageBatches images(context, model, dataset, batches);
  for (std::size_t batch = 0; batch < images.count(); ++batch) images.next(batch, visit);
}

Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  const EvaluationBatches& batches, const EvaluationProgress& progress,
                  const LogitsVisitor& visit) {
  ImageBatches images(context, model, dataset, batches, batches.shares.of_data());
  Accuracy accuracy;
  for_each_batch(
      batches.shares, images.count(),
      [&](std::size_t batch) {
        Accuracy of_batch;
        images.next(batch, [&](std::size_t i, std::span<const float> logits, std::int32_t label) {
          count(of_batch, logits, label);
          if (visit) visit(i, logits, label);
        });
        return bytes_of(of_batch);
      },
      [&](std::size_t batch, const std::string& of_batch) {
        accuracy += from_bytes<Accuracy>(of_batch);
        if (progress) progress(images.end_of(batch), dataset.size());
      });
  if (accuracy.total == 0) {
    throw DataError(dataset.name(),
                    "none of the " + std::to_string(dataset.size()) + " images can be read");
  }
  return accuracy;
}

}  // namespace skyline
