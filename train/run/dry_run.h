#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/replay/recorded_run.h"
#include "memory/step_graph.h"
#include "train/run/model_run.h"

namespace skyline {

// The memory that a step would need.
struct DryRunFacts {
  RecordedStep step;  // the ops and values of all its batches; empty with Graph::kOff
  // The number of each op of `step` in the program's sequence.
  std::vector<OpId> program_numbers;
  Trace trace;  // with tags
  RecordedRun run;
  std::int64_t parameters = 0, trained_parameters = 0;  // all, and those that are not frozen
  std::uint64_t resident_bytes = 0;                     // rounded
  // Peak of each category, as requested (not rounded).
  std::array<std::uint64_t, kCategoryCount> peak_bytes{};
};

// Returns the facts with only the last batch's ops: the one that the updates follow and that has
// the most bytes alive, if all batches are alike. The trace stays whole.
DryRunFacts last_batch(DryRunFacts facts);

// Memory of a dry run: addresses without bytes; every request is recorded.
MemoryOptions dry_memory(bool guard = false);
// Returns `options` for `mode`, without arithmetic. Its orders are those of `options`.
Context::Options dry_context(Context::Options options, Mode mode);

// Runs steps without memory and arithmetic. The network is made once, and kernels are kept. Thread
// rule: one thread at a time.
class DryRun {
 public:
  enum class Graph : bool { kOff, kOn };

  // The run must have been made with dry_memory() and dry_context().
  explicit DryRun(std::unique_ptr<ModelRun> run) : run_(std::move(run)) {}

  // Runs one step with `batch_size` samples. kInference runs the inference step, even if the
  // network was made for training. Throws ShapeError.
  DryRunFacts foresee(std::int64_t batch_size, Mode mode, Graph graph = Graph::kOff);
  // The same with the current batch.
  DryRunFacts foresee(Mode mode, Graph graph = Graph::kOff);
  // The next steps save bytes in this way.
  void set_savings(Savings savings) { run_->context.set_savings(std::move(savings)); }
  // The next steps make their kernels anew: other engines were chosen.
  void forget_kernels() { run_->context.kernels().forget(); }
  // The next step is ordered as the first of a run, for which only peaks of its own count.
  void forget_orders() {
    if (const auto& orders = run_->context.options().orders) orders->forget();
    run_->memory.recorder()->restart_peaks();
  }

 private:
  std::unique_ptr<ModelRun> run_;
  std::size_t first_staging_bytes_ = 0;
};

// Returns the options of a dry run that requests what Chainer 3 would: nothing is written in place,
// gradients are added as they arrive, see Emulation::chainer_ops.
Context::Options as_chainer(Context::Options options);

}  // namespace skyline
