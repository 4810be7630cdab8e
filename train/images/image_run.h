#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/loader.h"
#include "models/models.h"
#include "train/images/image_data.h"
#include "train/images/image_step.h"
#include "train/run/model_run.h"

namespace skyline {

struct ImageRunOptions {
  std::string model = "lenet";
  ModelShape shape;
  OptimizerOptions optimizer;
  StepShares shares = {};
  bool input_gradient = false;  // backward computes that of the images, too
  float label_smoothing = 0;
  std::vector<float> class_weights = {};  // one a class; empty: all count the same
  MemoryWatch watch = {};
  // How to read batches; only for runs with data.
  std::size_t batch_size = 32;
  std::size_t decode_threads = 1;
};

// Lets the rule by shape choose the engines of convolutions on the CPU, but keeps direct kernels
// where others would raise the peak of a training or inference step with as many images. On a CUDA
// device, lets the heuristics choose them, but none whose workspace would raise the peak of a
// training step, where another than cuDNN's reference needs less. The plain step decides, once for
// each size, so that the bits are the same for all options of a step. Products with large results
// get workspaces that raise the peak neither of that step, nor of one that recomputes and updates
// early, nor of inference. Kernels that the context made before are made anew.
void choose_engines(Context& context, ImageRunOptions options, std::size_t batch_size);

// A run of a model that classifies images.
class ImageRun final : public ModelRun {
 public:
  // Without `data`, the caller passes batches to take(). `data` outlives the run. Throws
  // ShapeError, OutOfMemory.
  ImageRun(const MemoryOptions& memory_options, const Context::Options& context_options,
           ImageRunOptions options, const ImageData* data = nullptr);

  const Network& network() const override { return *model; }

  void seek(const BatchPosition& position, std::uint64_t seed) override;
  double next() override;
  void take_empty_batch(std::int64_t size) override;
  void take(Batch batch);  // for all batches of a step
  // The batch that was read last; empty before the first next().
  const Batch& batch() const { return batch_; }

  using ModelRun::train_step;
  // Calls take() and train_step().
  float train_step(const Batch& batch, const UpdateParams& params);
  // Reads batches after the first, so that a step holds one on the host at a time.
  CrossEntropy loss_of(std::size_t batch) override;
  float inference_step() override;
  ShapeKey shape_key() const override { return training_key(batch_.size); }
  std::size_t input_bytes() const override {
    return step_batches() * skyline::input_bytes(*model, batch_.size);
  }

  std::uint64_t host_bytes() const override;

  // Reports top-1, and top-5 if there are more than five classes.
  Evaluation evaluate(std::int64_t number, const EvaluationProgress& progress) override;

  std::unique_ptr<Model> model;

 protected:
  std::span<const std::int32_t> labels() const override { return labels_; }

 private:
  void open_loader();
  void read_next();
  void read_again();
  AfterUpload give_back();
  std::size_t evaluation_batch_size() const;
  void plan_evaluation();

  ImageRunOptions options_;
  const ImageData* data_;
  std::optional<Loader> loader_;      // empty until seek(), and while an evaluation runs
  BatchPosition next_;                // the batch that next() returns
  std::uint64_t seed_ = 0;            // of the order
  Batch batch_;                       // without contents once they are on the device
  std::vector<std::int32_t> labels_;  // of batch_
  TrainingLoss judged_;
  std::size_t number_ = 0;     // of batch_ in its step
  double waited_seconds_ = 0;  // for batches, since next() returned
  bool evaluation_planned_ = false;
};

}  // namespace skyline
