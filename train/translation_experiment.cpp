#include "train/translation_experiment.h"

namespace skyline {

TranslationExperiment::TranslationExperiment(const MemoryOptions& memory_options,
                                             const Context::Options& context_options,
                                             const Seq2SeqShape& shape)
    : Workplace(memory_options, context_options), model(context, shape) {
  if (context.training()) optimizer.emplace(context, model);
  resident_bytes = memory.statistics().allocated_bytes;
}

std::span<const Buffer> TranslationExperiment::optimizer_state() const {
  return optimizer ? std::span<const Buffer>(optimizer->moments()) : std::span<const Buffer>();
}

Trace dry_run(const TranslationDryRun& options) {
  MemoryOptions memory;
  memory.device = "simulated";
  memory.allocator = "best-fit-pool";
  memory.guard = options.guard;
  memory.record = true;
  TranslationExperiment experiment(memory, {.execute = false, .in_place = options.in_place},
                                   options.shape);
  translation_training_step(experiment.context, experiment.model, *experiment.optimizer,
                            options.batch, {.clip = options.clip});
  return experiment.memory.recording()->last_step();
}

}  // namespace skyline
