#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"
#include "framework/context.h"
#include "framework/ops/loss/softmax.h"
#include "models/model.h"
#include "train/run/evaluation.h"
#include "train/run/step_shares.h"

namespace skyline {

// Shape keys of training and inference steps with this batch size.
ShapeKey training_key(std::size_t batch_size);
ShapeKey inference_key(std::size_t batch_size);

// Device bytes for the images and labels of a batch, each rounded.
std::size_t input_bytes(const Model& model, std::size_t batch_size);

// Called once the batch has been copied, so that its memory may serve another one; may be empty.
using AfterUpload = std::function<void()>;

// The way a training step judges its batches.
struct TrainingLoss {
  float smoothing = 0;          // of labels; this and the next, see cross_entropy()
  Tensor class_weights = {};    // f32 [classes]; none: all count the same
  bool input_gradient = false;  // backward computes that of the images, too
};

// Runs the forward pass of a batch and returns its mean loss f32 [1] and the probabilities of
// classes: uploads images and labels, runs the model, then softmax cross-entropy. Adds the loss of
// each auxiliary head with its weight. In a dry run the batch needs no images.
CrossEntropy forward_loss(Context& context, const Model& model, const Batch& batch,
                          const AfterUpload& after_upload = {}, const TrainingLoss& judged = {});

// Result of an inference step; no logits and loss 0 in a dry run.
struct Inference {
  std::vector<float> logits;  // [batch.size, classes], row by row
  float loss = 0;             // mean over the batch
};

// Runs one inference step with labels and plain loss, as evaluations do. Throws ShapeError,
// LabelError, OutOfMemory.
Inference inference_step(Context& context, const Model& model, const Batch& batch,
                         const AfterUpload& after_upload = {});

// Classification accuracy of a model.
struct Accuracy {
  std::int64_t correct = 0;       // the label's logit is the largest; ties go to the lower class
  std::int64_t correct_top5 = 0;  // it is among the five largest
  std::int64_t total = 0;         // counted images
  std::int64_t not_counted = 0;   // unreadable images
  double loss_sum = 0;            // sum of the cross-entropies, batch by batch

  Accuracy& operator+=(const Accuracy& other);

  double top1() const noexcept { return share(static_cast<double>(correct)); }
  double top5() const noexcept { return share(static_cast<double>(correct_top5)); }
  double mean_loss() const noexcept { return share(loss_sum); }

 private:
  double share(double sum) const noexcept {
    return total > 0 ? sum / static_cast<double>(total) : 0.0;
  }
};

// Top-5 accuracy is reported only if there are more classes than this.
inline constexpr int kTopGuesses = 5;

struct EvaluationBatches {
  std::size_t batch_size = 1;
  std::size_t decode_threads = 1;
  StepShares shares = {};  // how processes divide the batches of evaluate()
};

// Called for each image in the data set's order with its logits and its label.
using LogitsVisitor =
    std::function<void(std::size_t index, std::span<const float> logits, std::int32_t label)>;

// Runs a network over a data set in inference steps of one shape; the last one is padded with
// repeated images, which are not visited. Draws no random numbers. Throws DataError if the batch
// size is 0, and what the data set and `visit` throw.
void for_each_image(Context& context, const Model& model, const Dataset& dataset,
                    EvaluationBatches batches, const LogitsVisitor& visit);

// Evaluates `dataset` as for_each_image() does; its batches are divided among the processes of a
// run. Unreadable images are not counted. `visit` sees the images of this process. Throws DataError
// if no image can be read, too, and what `progress` and `visit` throw.
Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  const EvaluationBatches& batches, const EvaluationProgress& progress = {},
                  const LogitsVisitor& visit = {});

}  // namespace skyline
