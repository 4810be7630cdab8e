#pragma once

#include <cstdint>
#include <memory>
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

// What the log says of a batch of text. Images leave it empty.
struct BatchFacts {
  std::uint64_t sentences = 0;
  std::uint64_t words = 0;  // of the target, ends of sentence included
  std::vector<std::pair<std::string, std::uint64_t>> lengths;  // the longest sentence of each side

  // Of one target word, from the loss of a sentence; none where there are no words.
  std::optional<double> perplexity(double loss) const;
};

// A network in its memory, with its optimizer and the batch in hand. Whatever a command runs is
// steps of this: `train` has one, `compare` one for each allocator, a dry run one on a device that
// owns no memory. Images and text are its two kinds.
//
//   std::unique_ptr<ModelRun> run = workload.on(memory, Mode::kTraining);
//   run->seek({}, seed);
//   run->next();
//   float loss = run->step({.learning_rate = 0.1f, .step = 1});
class ModelRun {
 public:
  virtual ~ModelRun() = default;
  ModelRun(const ModelRun&) = delete;
  ModelRun& operator=(const ModelRun&) = delete;

  virtual const Network& network() const = 0;
  // Velocities or moments; empty in inference mode.
  std::span<const Buffer> optimizer_state() const;
  // Rounded: parameters, gradients, optimizer and running values, and staged inputs.
  std::uint64_t resident_bytes() const { return network_bytes_ + context.staging_bytes(); }

  // Goes on with the batch at `position` of the order that `seed` gives. Only for runs with data,
  // like next() and evaluate().
  virtual void seek(const BatchPosition& position, std::uint64_t seed) = 0;
  // Takes the next batch in hand; returns the seconds that it waited. Between steps.
  virtual double next() = 0;
  // Takes a batch of so many samples without contents in hand, for dry runs.
  virtual void take_empty_batch(std::int64_t size) = 0;
  virtual BatchFacts batch_facts() const { return {}; }

  // One training step with the batch in hand, or one inference step in inference mode, which leaves
  // `params` unread. Returns the loss, 0 in a dry run. Throws what training_step() throws.
  float step(const UpdateParams& params);
  // Uploads the batch in hand and computes its loss f32 [1].
  virtual Tensor forward_loss() = 0;
  // The loss of one inference step with the batch in hand.
  virtual float inference_step() = 0;
  virtual ShapeKey shape_key() const = 0;       // of the batch in hand
  virtual std::size_t input_bytes() const = 0;  // its uploads, each rounded

  // Evaluates the network after `number` steps, within the memory that training has. The random
  // stream stays where it was. Throws EvaluationStopped when `progress` does.
  virtual Evaluation evaluate(std::int64_t number, const EvaluationProgress& progress) = 0;

  MemoryChain memory;
  Context context;

 protected:
  ModelRun(const MemoryOptions& memory_options, const Context::Options& context_options)
      : memory(memory_options), context(memory.allocator(), context_options) {}
  // Makes the optimizer, in training mode, of the network that was just made.
  void own_optimizer(const OptimizerOptions& options);

 private:
  std::unique_ptr<Optimizer> optimizer_;
  std::uint64_t network_bytes_ = 0;
};

}  // namespace skyline
