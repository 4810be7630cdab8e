#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "framework/context.h"
#include "models/model.h"
#include "train/optimizers/optimizer.h"
#include "train/run/evaluation.h"
#include "train/run/memory_chain.h"
#include "train/run/training_step.h"

namespace skyline {

// Facts about the text batches of a step for the log; empty for images.
struct BatchFacts {
  std::uint64_t sentences = 0;
  std::uint64_t words = 0;  // of the target, including ends of sentence
  std::vector<std::pair<std::string, std::uint64_t>> lengths;  // the longest sentence of each side

  // Perplexity per target word, from the loss per sentence; nothing if there are no words.
  std::optional<double> perplexity(double loss) const;
};

// The images of training steps that the network classified right, before the update.
struct TrainingHits {
  std::uint64_t right = 0;  // the label's probability is the largest; ties go to the lower class
  std::uint64_t images = 0;

  std::optional<double> top1() const {
    if (images == 0) return {};
    return static_cast<double>(right) / static_cast<double>(images);
  }
  TrainingHits& operator+=(const TrainingHits& other) {
    right += other.right;
    images += other.images;
    return *this;
  }
  bool operator==(const TrainingHits&) const = default;
};

// A network with its memory, its optimizer and the current batches: those of one training step, as
// many as StepShares::micro_batches, or one in inference mode. Every command that runs steps
// uses it: `train` has one, `compare` one for each allocator, and a dry run has one on a device
// without memory. There are three kinds: images, translation and text.
//
//   std::unique_ptr<ModelRun> run = workload.on(memory, Mode::kTraining);
//   run->seek({}, seed);
//   run->next();
//   float loss = run->train_step({.learning_rate = 0.1f, .step = 1});
class ModelRun : public StepBatches {
 public:
  ModelRun(const ModelRun&) = delete;
  ModelRun& operator=(const ModelRun&) = delete;

  virtual const Network& network() const = 0;
  // Velocities or moments, and the parameters that they are of; empty in inference mode.
  std::span<const Buffer> optimizer_state() const;
  std::span<const Parameter> updated_parameters() const;
  // Rounded bytes of parameters, gradients, optimizer state, running values and staged inputs.
  std::uint64_t resident_bytes() const { return network_bytes_ + context.staging_bytes(); }

  // Bytes of batches on the host, in hand and made ahead; not resident memory of the device.
  virtual std::uint64_t host_bytes() const { return 0; }

  // Continues at the batch `position` in the order given by `seed`. Like next() and evaluate(),
  // only for runs with data.
  virtual void seek(const BatchPosition& position, std::uint64_t seed) = 0;
  // Makes the next step's batches the current ones; those after the first may be read within the
  // step. Returns the seconds spent waiting for batches since the last call. Call between steps.
  virtual double next() = 0;
  // Makes batches of `size` samples without contents the current ones, for dry runs.
  virtual void take_empty_batch(std::int64_t size) = 0;
  virtual BatchFacts batch_facts() const { return {}; }

  // Runs one training step on the current batches; in inference mode, one inference step, which
  // ignores `params`. Returns the mean loss, 0 in a dry run. Throws what training_step() throws.
  float train_step(const UpdateParams& params);
  // Runs one inference step on the first current batch and returns its loss.
  virtual float inference_step() = 0;
  // Lets the next training steps compute the loss of their batches in inference mode, too, or not.
  // They are interrupted for it: their plan does not change, nor do their bits.
  void measure_inference_loss(bool measure) noexcept { measures_inference_loss_ = measure; }
  // The mean of this process's batches, of the last step; empty unless it was measured.
  std::optional<double> inference_loss() const noexcept { return inference_loss_; }
  // Returns those of the last training step, over all ranks; none for text.
  const TrainingHits& hits() const noexcept { return hits_; }
  void examine(std::size_t batch, const Tensor& probabilities) final;
  // True if next() adopts a plan for the step.
  virtual bool plans_each_step() const { return false; }

  const StepShares& shares() const noexcept { return shares_; }
  // The kind of its steps, which plans that a session adopts must have.
  StepKind step_kind() const noexcept {
    return context.training() ? StepKind::kTraining : StepKind::kInference;
  }

  // Returns what the run has found out since the last call and its user should hear.
  std::optional<std::string> take_news();

  // Evaluates the network after `number` steps, within the memory that training has. Leaves the
  // random stream unchanged. Throws EvaluationStopped if `progress` does.
  virtual Evaluation evaluate(std::int64_t number, const EvaluationProgress& progress) = 0;

  MemoryChain memory;
  Context context;

 protected:
  ModelRun(const MemoryOptions& memory_options, const Context::Options& context_options,
           const StepShares& shares, const MemoryWatch& watch)
      : memory(memory_options, watch, !context_options.dry_run ? context_options.compute : nullptr),
        context(memory.allocator(), context_options),
        shares_(!context_options.dry_run ? shares : shares.in_dry_run()) {}
  // How many batches are current.
  std::size_t step_batches() const noexcept {
    return context.training() ? shares_.micro_batches : 1;
  }
  // Makes the optimizer in training mode. Constructors call it after making the network.
  void own_optimizer(const OptimizerOptions& options);
  // Runs a step of this key that computes the loss of the first current batch in inference mode and
  // reads it back, as for the perplexity of a validation. Throws WordError, LabelError,
  // OutOfMemory.
  float inference_loss_step(ShapeKey key);
  // Returns the labels of the batch whose loss was computed last; none for text.
  virtual std::span<const std::int32_t> labels() const { return {}; }

 private:
  void count_hits(const Tensor& probabilities);

  StepShares shares_;
  std::optional<Optimizer> optimizer_;
  std::uint64_t network_bytes_ = 0;
  bool measures_inference_loss_ = false;
  std::optional<double> inference_loss_;
  TrainingHits hits_;
  std::vector<float> probabilities_;  // on the host, kept for its memory
  bool told_of_held_ = false;
  std::optional<std::string> news_;
};

// Uploads words i32 [R].
Tensor upload_words(Context& context, std::span<const std::int32_t> words, std::string_view name);
// Device bytes of so many words, as an upload rounds them.
std::size_t word_bytes(std::size_t words);

}  // namespace skyline
