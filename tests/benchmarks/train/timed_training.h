#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"
#include "framework/engines/engine_choices.h"
#include "memory/device/cpu_device.h"
#include "models/models.h"
#include "train/images/image_step.h"
#include "train/optimizers/optimizer.h"
#include "train/options/step_options.h"

namespace skyline {

// With SGD with momentum 0.9 it is PGMO's setting.
// So small that vgg16, which has no normalization, does not diverge on noise.
inline constexpr UpdateParams kStepParams = {.learning_rate = 1e-4f};

// Returns 4 for inception-resnet, 32 for mlp, lenet and resnet20, 16 for all other models.
int usual_batch_size(std::string_view model);

// Returns noise in [-1, 1), the same in every run.
std::vector<float> noise_values(std::size_t count);

// Returns images of noise in [-1, 1) with labels of all classes, the same in every run.
Batch noise_batch(const ModelShape& shape, int batch_size);

// A network in training with memory from one source: "planned", "malloc", or an allocator by its
// name in the table. Each training has a device of its own.
class TimedTraining {
 public:
  // Throws std::invalid_argument for an unknown allocator.
  TimedTraining(std::string_view allocator, const ModelEntry& entry, const StepOptions& step = {},
                CpuOptions::Engines engines = CpuOptions::Engines::kByShape);

  // Runs one training step and returns its seconds. The first steps of "planned" record and plan.
  double step(const Batch& batch);

  const std::string& name() const noexcept { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  const StepOptions& step_options() const noexcept { return step_; }
  Context& context() noexcept { return *context_; }
  const Model& model() const noexcept { return *model_; }
  // Returns the bytes that the allocator holds between steps, which is also its peak. malloc holds
  // nothing between steps, so for it this is the largest sum of live bytes.
  std::uint64_t reserved_bytes() const;

 private:
  std::string name_;
  const ModelEntry& entry_;
  StepOptions step_;
  EngineChoices choices_;
  CpuDevice device_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Model> model_;
  std::optional<Optimizer> optimizer_;
};

}  // namespace skyline
