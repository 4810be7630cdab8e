#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"
#include "memory/device/cpu_device.h"
#include "models/models.h"
#include "train/images/image_step.h"
#include "train/optimizers/sgd.h"

namespace skyline {

// The setting: MomentumSGD of PGMO (NETWORKS.md section 3).
inline constexpr SgdParams kStepParams = {.learning_rate = 0.01f, .momentum = 0.9f};

// Small batches for the large network, 16 for all others.
int usual_batch_size(std::string_view model);

// Noise in [-1, 1), the same every time.
std::vector<float> noise_values(std::size_t count);

// Images of noise in [-1, 1) with labels of all classes, the same every time.
Batch noise_batch(const ModelShape& shape, int batch_size);

// A network in training that gets its memory in one way: "planned", "malloc", or an allocator by
// its name in the table, each on a device of its own.
class TimedTraining {
 public:
  // Throws std::invalid_argument for an unknown name.
  TimedTraining(std::string_view allocator, const ModelEntry& entry, int recompute = 0);

  // One training step; returns its seconds. The first runs of "planned" record and plan.
  double step(const Batch& batch);

  const std::string& name() const noexcept { return name_; }
  int recompute() const noexcept { return context_->options().recompute; }
  Context& context() noexcept { return *context_; }
  const Model& model() const noexcept { return *model_; }
  // What the allocator holds of its device between steps once it has settled: its steps' peak, too,
  // but for malloc, which then has given all back and shows the most that was alive.
  std::uint64_t reserved_bytes() const;

 private:
  std::string name_;
  CpuDevice device_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Sgd> optimizer_;
};

}  // namespace skyline
