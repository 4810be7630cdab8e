#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "memory/replay/recorded_run.h"
#include "memory/step_graph.h"
#include "train/run/model_run.h"

namespace skyline {

// What a step would need.
struct DryRunFacts {
  RecordedStep step;  // its ops and values; empty unless asked for
  Trace trace;        // with tags
  RecordedRun run;
  std::int64_t parameters = 0;
  std::uint64_t resident_bytes = 0;  // rounded
  // By category: the most bytes at once, as requested.
  std::array<std::uint64_t, kCategoryCount> peak_bytes{};
};

// Where a dry run's memory comes from: addresses without bytes, every request recorded.
MemoryOptions dry_memory(bool guard = false);
// `options` without arithmetic, in `mode`.
Context::Options dry_context(Context::Options options, Mode mode);

// Steps of a run without memory and without arithmetic: the network is made once, kernels are kept.
// Thread rule: one thread at a time.
class DryRun {
 public:
  enum class Graph : bool { kOff, kOn };

  // The run was made with dry_memory() and dry_context().
  explicit DryRun(std::unique_ptr<ModelRun> run) : run_(std::move(run)) {}

  // One step with `batch_size` samples. In kInference it is the inference step of the same network,
  // also where that was made for training. Throws ShapeError.
  DryRunFacts step(std::int64_t batch_size, Mode mode, Graph graph = Graph::kOff);
  // The same with the batch in hand.
  DryRunFacts step(Mode mode, Graph graph = Graph::kOff);

 private:
  std::unique_ptr<ModelRun> run_;
  std::size_t first_staging_bytes_ = 0;
};

}  // namespace skyline
