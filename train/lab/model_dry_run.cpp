#include "train/lab/model_dry_run.h"

#include "train/images/image_run.h"
#include "train/translation/translation_run.h"

namespace skyline {
namespace {

Context::Options context_options(const DryRunOptions& options) {
  return dry_context({.compute = options.compute,
                      .in_place = options.in_place,
                      .recompute = options.recompute,
                      .fused_update = options.fused_update,
                      .prefetch = options.prefetch,
                      .convolution_workspace_bytes = options.convolution_workspace_bytes},
                     options.mode);
}

std::unique_ptr<ModelRun> make_run(const DryRunOptions& options) {
  if (options.model == kSeq2Seq) {
    return std::make_unique<TranslationRun>(
        dry_memory(options.guard), context_options(options),
        TranslationRunOptions{.shape = options.translation,
                              .optimizer = options.optimizer,
                              .sentence_words = options.sentence_words});
  }
  return std::make_unique<ImageRun>(
      dry_memory(options.guard), context_options(options),
      ImageRunOptions{
          .model = options.model, .shape = options.shape, .optimizer = options.optimizer});
}

}  // namespace

DryRun make_dry_run(const DryRunOptions& options) { return DryRun(make_run(options)); }

DryRunFacts dry_run(const DryRunOptions& options) {
  return make_dry_run(options).step(options.batch_size, options.mode, DryRun::Graph::kOn);
}

}  // namespace skyline
