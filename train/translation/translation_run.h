#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "data/text/pair_loader.h"
#include "framework/savings.h"
#include "memory/session/plan.h"
#include "memory/session/session.h"
#include "models/seq2seq.h"
#include "train/run/dry_run.h"
#include "train/run/model_run.h"
#include "train/translation/translation_data.h"

namespace skyline {

// Returns the shape key of a batch. Batches with the same number of sentences at every word
// position, on both sides, make the same requests and get the same key.
ShapeKey translation_key(const PairBatch& batch, StepKind kind = StepKind::kTraining);
// Returns the key of a step that takes this batch after those of `before`.
ShapeKey translation_key(ShapeKey before, const PairBatch& batch);

// Device bytes for the words of a batch, each upload rounded.
std::size_t input_bytes(const PairBatch& batch);

// Runs the forward pass of a batch and returns its loss f32 [1]: the sum of the words'
// cross-entropies divided by the number of sentences, as in the paper's example. `accumulate`: see
// BackwardOptions.
Tensor translation_loss(Context& context, const Seq2Seq& model, const PairBatch& batch,
                        bool accumulate = false);

// Makes a batch of unknown words for dry runs, where only lengths matter. As in any batch, the
// decoder reads one word more than the target sentence has. Throws DataError if there is no
// sentence or a source is empty.
PairBatch batch_of_lengths(std::span<const std::int32_t> source_lengths,
                           std::span<const std::int32_t> target_lengths);

// Dry-runs a training step on the batches with these savings.
using DryPairStep = std::function<Trace(const std::vector<PairBatch>&, const Savings&)>;

// Choices of how a step saves bytes, the fastest first, and the bytes that its plan may take.
struct StepChoices {
  std::vector<Savings> savings = {nullptr};
  std::uint64_t plan_bytes = std::numeric_limits<std::uint64_t>::max();
  // Finds savings that make a step of these batches fit, if none of the above does. Slow.
  std::function<Savings(const std::vector<PairBatch>&)> search = {};
};

// A choice and the plan of a step that makes it.
struct PlannedChoice {
  Savings savings;
  StepPlan plan;
};

// Returns the first choice whose plan fits, else what the search finds. Throws what it throws.
PlannedChoice first_that_fits(const std::vector<PairBatch>& batches, const StepChoices& choices,
                              const DryPairStep& dry_step, const Session& session);

// The batches of a run, step by step. With a session, next() returns a step's batches after
// adopting a plan for it: while a step runs, another thread dry-runs and plans the next one. Thread
// rule: only the thread that drives the steps.
class PlannedPairs {
 public:
  // A step has `step_batches`. If `session` is null, batches are only read. `dry_step` is called
  // only on the planning thread. The session and the loader's data outlive this object.
  PlannedPairs(PairLoader loader, std::size_t step_batches, Session* session, StepChoices choices,
               DryPairStep dry_step, StepKind kind = StepKind::kTraining);

  struct Step {
    std::vector<PairBatch> batches;
    Savings savings;  // that the step must make
  };
  // Call between steps. Throws what the loader, the dry step and Session::adopt throw.
  Step next();

 private:
  struct Coming {
    std::vector<PairBatch> batches;
    std::future<PlannedChoice> choice;
  };
  std::vector<PairBatch> read();
  Coming prepare();

  PairLoader loader_;
  std::size_t step_batches_;
  Session* session_;
  StepChoices choices_;
  DryPairStep dry_step_;
  StepKind kind_;
  std::optional<Coming> coming_;  // waits for the other thread when destroyed
};

struct TranslationRunOptions {
  Seq2SeqShape shape;
  OptimizerOptions optimizer = {.name = "adam"};
  StepShares shares = {};
  MemoryWatch watch = {};
  std::int64_t sentence_words = 30;  // of take_empty_batch(), on both sides
  // How to read and evaluate batches; only for runs with data.
  PairLoaderOptions loader = {};
  std::size_t val_pairs = 1000;  // most pairs to translate for BLEU
  // Words of each answer that an inference step makes, as PGMO's does: no sentence ends before. 0:
  // the step computes the loss.
  std::int64_t translate_words = 0;
  // Dry-runs and plans each batch before its step; see PlannedPairs. The dry runs use
  // `dry_compute`, because they are on another thread.
  bool plan_each_batch = false;
  std::shared_ptr<Compute> dry_compute = {};
};

// A run of a translation model.
class TranslationRun final : public ModelRun {
 public:
  // Without `data`, the caller passes batches to take(). `data` outlives the run. Throws
  // ShapeError, OutOfMemory.
  TranslationRun(const MemoryOptions& memory_options, const Context::Options& context_options,
                 TranslationRunOptions options, const TranslationData* data = nullptr);

  const Network& network() const override { return model; }

  // Sets the recomputation choices of a run that plans each batch. Call it before seek().
  void choose_from(StepChoices choices) { choices_ = std::move(choices); }
  void seek(const BatchPosition& position, std::uint64_t seed) override;
  double next() override;
  void take_empty_batch(std::int64_t size) override;
  // Makes these batches the current ones, again and again if there are too few.
  void take(std::vector<PairBatch> batches) { batches_ = std::move(batches); }
  const std::vector<PairBatch>& batches() const { return batches_; }  // none before next()
  BatchFacts batch_facts() const override;

  using ModelRun::train_step;
  // Calls take() and train_step().
  float train_step(const PairBatch& batch, const UpdateParams& params);
  CrossEntropy loss_of(std::size_t number) override {
    return {translation_loss(context, model, batch(number), number > 0)};
  }
  // Returns the mean number of the answers' words instead of a loss if translate_words is set.
  float inference_step() override;
  ShapeKey shape_key() const override;
  std::size_t input_bytes() const override;
  bool plans_each_step() const override { return options_.plan_each_batch; }

  // Reports corpus BLEU, exact matches and perplexity on validation pairs, and one sample
  // translation. Runs outside of steps and is not planned (PGMO's interrupt): it uses the arena,
  // which is free between steps, and the pool only if it needs more; the pool's cache is released
  // afterwards.
  Evaluation evaluate(std::int64_t number, const EvaluationProgress& progress) override;

  Seq2Seq model;

 private:
  const PairBatch& batch(std::size_t number) const { return batches_[number % batches_.size()]; }

  TranslationRunOptions options_;
  StepChoices choices_;
  const TranslationData* data_;
  std::optional<PlannedPairs> pairs_;
  std::vector<PairBatch> batches_;
};

// Dry-runs steps of the context options' mode on given batches, see TranslationRun::take(). Thread
// rule: one thread at a time.
class TranslationDryRun {
 public:
  TranslationDryRun(const Context::Options& context_options, const TranslationRunOptions& options,
                    bool guard = false);
  // Throws ShapeError.
  DryRunFacts foresee(std::vector<PairBatch> batches, DryRun::Graph graph = DryRun::Graph::kOff);
  void set_savings(Savings savings) { dry_.set_savings(std::move(savings)); }
  // Returns the step's requests, with tags. Throws ShapeError.
  Trace trace(std::vector<PairBatch> batches) { return foresee(std::move(batches)).trace; }
  Trace trace(std::vector<PairBatch> batches, Savings savings) {
    set_savings(std::move(savings));
    return trace(std::move(batches));
  }

 private:
  Mode mode_;
  TranslationRun* run_;  // owned by dry_
  DryRun dry_;
};

}  // namespace skyline
