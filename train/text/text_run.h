#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/text/text_stream.h"
#include "models/gpt.h"
#include "train/run/model_run.h"

namespace skyline {

struct TextRunOptions {
  GptShape shape;
  std::size_t length = 64;  // words of a window
  OptimizerOptions optimizer = {.name = "adamw"};
  StepShares shares = {};
  MemoryWatch watch = {};
  std::size_t batch_size = 12;  // windows; only for runs with data
  // An inference step computes the logits of the word after a window, see next_word(), not a loss.
  bool generates = false;
};

struct SamplerOptions {
  double temperature = 0.8;  // divides the logits; 0: the likeliest word, the first of equal ones
  std::int64_t top_k = 0;    // only so many of the likeliest words; 0: all
  std::int64_t seed = 0;
};

// Returns the word that the number-th drawing takes, of logits [V]: by Philox, so that it depends
// only on these arguments. Computes in double precision.
std::uint16_t sampled_word(std::span<const float> logits, const SamplerOptions& options,
                           std::uint64_t number);

// A run of a model that goes on with a text.
class TextRun final : public ModelRun {
 public:
  // Without `text`, the caller passes batches to take(). `text` outlives the run. Throws
  // ShapeError, OutOfMemory.
  TextRun(const MemoryOptions& memory_options, const Context::Options& context_options,
          TextRunOptions options, const TextStream* text = nullptr);

  const Network& network() const override { return model; }

  void seek(const BatchPosition& position, std::uint64_t seed) override;
  double next() override;
  void take_empty_batch(std::int64_t size) override;
  // Makes these batches the current ones, again and again if there are too few.
  void take(std::vector<WindowBatch> batches) { batches_ = std::move(batches); }
  const std::vector<WindowBatch>& batches() const { return batches_; }  // none before next()
  // The loss is a mean over words, so each counts as a sentence.
  BatchFacts batch_facts() const override;

  CrossEntropy loss_of(std::size_t number) override;
  float inference_step() override;
  ShapeKey shape_key() const override { return batch(0).windows; }
  std::size_t input_bytes() const override;

  // Returns the output of ln_f [B T, C] for B windows; one may be shorter than `length`.
  Tensor features(std::span<const std::int32_t> words, std::size_t windows);

  // Runs an inference step and returns the logits [V] of the word after these, at most `length`.
  // Computes the logits of the last word alone; its plan serves all shorter texts, too. Empty in a
  // dry run.
  std::vector<float> next_word(std::span<const std::int32_t> words);
  // Returns `count` words that follow the prompt, one after another; each sees at most `length`
  // words before it. The prompt has at least one word, and the run is in inference mode.
  std::vector<std::uint16_t> generate(std::span<const std::uint16_t> prompt, std::size_t count,
                                      const SamplerOptions& options);

  // Reports loss, perplexity and bits a word over all windows of the validation text, which lie
  // side by side. Runs outside of steps, as a translation's evaluation does.
  Evaluation evaluate(std::int64_t number, const EvaluationProgress& progress) override;

  Gpt model;

 private:
  const WindowBatch& batch(std::size_t number) const { return batches_[number % batches_.size()]; }
  Tensor loss(const WindowBatch& batch, bool accumulate = false);

  TextRunOptions options_;
  const TextStream* text_;
  std::optional<WindowLoader> loader_;
  std::vector<WindowBatch> batches_;
  std::vector<std::int32_t> places_;  // of the words of windows
};

}  // namespace skyline
