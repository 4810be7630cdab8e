#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "framework/context.h"
#include "memory/adaptors/guard_adaptor.h"
#include "memory/adaptors/recording_adaptor.h"
#include "memory/replay/recorded_run.h"
#include "models/models.h"
#include "train/optimizers/sgd.h"

namespace skyline {

// A step to run without memory and without arithmetic.
struct DryRunOptions {
  std::string model = "lenet";
  ModelShape shape;
  std::int64_t batch_size = 32;
  Mode mode = Mode::kTraining;
  bool in_place = true;
  int recompute = 0;  // see Context::Options
  bool fused_update = false;
  bool guard = false;
  bool prefetch = false;
  std::shared_ptr<Compute> compute = {};  // whose kernels say what they need; null: the CPU
  // What every convolution asks for, forward and backward; unset: what the backend needs.
  std::optional<std::uint64_t> convolution_workspace_bytes = {};
};

// What a step would need.
struct DryRunFacts {
  StepGraph graph;  // empty unless asked for
  Trace trace;      // with tags
  RecordedRun run;
  std::int64_t parameters = 0;
  std::uint64_t resident_bytes = 0;  // rounded
  // By category: the most bytes at once, as requested.
  std::array<std::uint64_t, kCategoryCount> peak_bytes{};
};

// A model whose program runs without memory and without arithmetic, step after step: the resident
// part is made once, kernels are kept.
class DryProgram {
 public:
  enum class Graph : bool { kOff, kOn };

  // In training mode with gradients and optimizer. Throws ShapeError.
  explicit DryProgram(const DryRunOptions& options);

  // Runs one step: of training, or the inference step of the same model; in inference mode always
  // the latter. Throws ShapeError.
  DryRunFacts step(std::int64_t batch_size, Mode mode, Graph graph = Graph::kOff);

 private:
  RunRecorder recorder_;
  RecordingAdaptor trace_;
  GuardAdaptor guard_;
  Context context_;
  std::unique_ptr<Model> model_;
  std::optional<Sgd> optimizer_;  // none in inference mode
  std::size_t first_staging_bytes_ = 0;
};

// Runs one step and records it, graph included. Throws ShapeError.
DryRunFacts dry_run(const DryRunOptions& options);

}  // namespace skyline
