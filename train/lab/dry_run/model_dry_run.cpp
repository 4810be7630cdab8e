#include "train/lab/dry_run/model_dry_run.h"

#include "train/images/image_run.h"
#include "train/text/text_run.h"
#include "train/translation/translation_run.h"

namespace skyline {
namespace {

Context::Options dry_context(const DryRunOptions& options) {
  Context::Options context = context_options(options.step);
  context.compute = options.compute;
  context.savings = options.savings;
  context.prefetch = options.prefetch;
  context.dry_run = options.emulate;
  if (options.emulate.chainer_ops) context = as_chainer(std::move(context));
  return dry_context(context, options.mode);
}

StepShares shares(const DryRunOptions& options) {
  return {.micro_batches = static_cast<std::size_t>(options.step.micro_batches),
          .place = {.ranks = options.ranks},
          .buckets = options.buckets,
          .shard_optimizer = options.shard_optimizer};
}

}  // namespace

std::unique_ptr<ModelRun> make_run(const DryRunOptions& options) {
  if (options.model == kSeq2Seq) {
    return std::make_unique<TranslationRun>(
        dry_memory(options.guard), dry_context(options),
        TranslationRunOptions{.shape = options.translation,
                              .optimizer = options.optimizer,
                              .shares = shares(options),
                              .sentence_words = options.sentence_words});
  }
  if (find_gpt(options.model) != nullptr) {
    return std::make_unique<TextRun>(dry_memory(options.guard), dry_context(options),
                                     TextRunOptions{.shape = options.gpt,
                                                    .length = options.window_length,
                                                    .optimizer = options.optimizer,
                                                    .shares = shares(options)});
  }
  return std::make_unique<ImageRun>(dry_memory(options.guard), dry_context(options),
                                    ImageRunOptions{.model = options.model,
                                                    .shape = options.shape,
                                                    .optimizer = options.optimizer,
                                                    .shares = shares(options),
                                                    .input_gradient = options.input_gradient});
}

DryRun make_dry_run(const DryRunOptions& options) { return DryRun(make_run(options)); }

DryRunFacts dry_run(const DryRunOptions& options) {
  return make_dry_run(options).foresee(options.batch_size, options.mode, DryRun::Graph::kOn);
}

}  // namespace skyline
