#include "tests/benchmarks/train/timed_training.h"

#include <chrono>

#include "memory/allocators/allocators.h"
#include "memory/session/session.h"
#include "tests/benchmarks/memory/malloc_allocator.h"
#include "tests/train/run/given_batches.h"
#include "train/images/image_run.h"
#include "train/run/training_step.h"

namespace skyline {
namespace {

constexpr std::string_view kMalloc = "malloc";

std::unique_ptr<Allocator> make(std::string_view name, Device& device) {
  if (name == kPlannedAllocator) return std::make_unique<Session>(device);
  if (name == kMalloc) return std::make_unique<MallocAllocator>();
  return make_allocator(name, device);
}

Context::Options with_engines(const StepOptions& step, CpuOptions::Engines engines,
                              EngineChoices& choices) {
  Context::Options options = context_options(step);
  options.compute =
      std::make_shared<CpuCompute>(CpuOptions{.engines = engines, .choices = &choices});
  return options;
}

}  // namespace

int usual_batch_size(std::string_view model) {
  const bool small = model == "mlp" || model == "lenet" || model == "resnet20";
  return small ? 32 : model == "inception-resnet" ? 4 : 16;
}

std::vector<float> noise_values(std::size_t count) {
  std::vector<float> values(count);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1;
  }
  return values;
}

Batch noise_batch(const ModelShape& shape, int batch_size) {
  Batch batch;
  batch.size = static_cast<std::size_t>(batch_size);
  batch.images =
      noise_values(batch.size * static_cast<std::size_t>(shape.channels) *
                   static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width));
  for (int i = 0; i < batch_size; ++i) batch.labels.push_back(i * 7 % shape.classes);
  return batch;
}

TimedTraining::TimedTraining(std::string_view allocator, const ModelEntry& entry,
                             const StepOptions& step, CpuOptions::Engines engines)
    : name_(allocator),
      entry_(entry),
      step_(step),
      allocator_(make(allocator, device_)),
      context_(std::make_unique<Context>(*allocator_, with_engines(step, engines, choices_))),
      model_(entry.make(*context_, entry.shape)),
      optimizer_(std::in_place, *context_, *model_, OptimizerOptions{.weight_decay = 0}) {}

double TimedTraining::step(const Batch& batch) {
  choose_engines(*context_, {.model = std::string(entry_.name), .shape = entry_.shape}, batch.size);
  const auto start = std::chrono::steady_clock::now();
  tests::GivenBatches batches(training_key(batch.size), [&](std::size_t) {
    return forward_loss(*context_, *model_, batch).loss;
  });
  training_step(*context_, *optimizer_, kStepParams, batches,
                {.micro_batches = static_cast<std::size_t>(step_.micro_batches)});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint64_t TimedTraining::reserved_bytes() const {
  const Statistics statistics = allocator_->statistics();
  return name_ == kMalloc ? statistics.peak_reserved_bytes : statistics.reserved_bytes;
}

}  // namespace skyline
