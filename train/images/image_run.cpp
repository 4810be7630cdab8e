#include "train/images/image_run.h"

namespace skyline {

Experiment::Experiment(const MemoryOptions& memory_options, const Context::Options& context_options,
                       const ModelEntry& entry, const ModelShape& shape)
    : Workplace(memory_options, context_options), model(entry.make(context, shape)) {
  if (context.training()) optimizer.emplace(context, *model);
  network_bytes = memory.statistics().allocated_bytes;
}

std::span<const Buffer> Experiment::optimizer_state() const {
  return optimizer ? std::span<const Buffer>(optimizer->velocities()) : std::span<const Buffer>();
}

float Experiment::step(const Batch& batch, const SgdParams& params) {
  if (optimizer) return training_step(context, *model, *optimizer, batch, params);
  return inference_step(context, *model, batch).loss;
}

}  // namespace skyline
