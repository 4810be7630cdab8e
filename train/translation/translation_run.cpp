#include "train/translation/translation_run.h"

namespace skyline {

TranslationExperiment::TranslationExperiment(const MemoryOptions& memory_options,
                                             const Context::Options& context_options,
                                             const Seq2SeqShape& shape)
    : Workplace(memory_options, context_options), model(context, shape) {
  if (context.training()) optimizer.emplace(context, model);
  network_bytes = memory.statistics().allocated_bytes;
}

std::span<const Buffer> TranslationExperiment::optimizer_state() const {
  return optimizer ? std::span<const Buffer>(optimizer->moments()) : std::span<const Buffer>();
}

Trace dry_run(const TranslationDryRun& options) {
  return TranslationDryRunner(options).run(options.batch);
}

TranslationDryRunner::TranslationDryRunner(const TranslationDryRun& how)
    : clip_(how.clip),
      experiment_(
          {.device = "simulated", .allocator = "best-fit-pool", .guard = how.guard, .record = true},
          {.compute = how.compute, .execute = false, .in_place = how.in_place}, how.shape) {}

Trace TranslationDryRunner::run(const PairBatch& batch) {
  translation_training_step(experiment_.context, experiment_.model, *experiment_.optimizer, batch,
                            {.clip = clip_});
  return experiment_.memory.recording()->last_step();
}

}  // namespace skyline
