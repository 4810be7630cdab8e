#pragma once

#include <functional>
#include <memory>
#include <string>

#include "framework/context.h"
#include "framework/engines/engine_choices.h"
#include "train/decide/step_decisions.h"
#include "train/options/train_options.h"
#include "train/run/step_shares.h"

namespace skyline {

class CudaRanks;

// What lives as long as a command, and is neither said nor decided.
struct LiveParts {
  std::shared_ptr<RankGroup> group = {};  // of the ranks that train together; null: one process
  std::shared_ptr<CudaRanks> cards = {};  // of the ranks, once they are connected
  // Read from files, completed while kernels are made, saved with checkpoints.
  std::shared_ptr<EngineChoices> engines = std::make_shared<EngineChoices>();
  // Shared by runs and dry runs, whose plans must fit each other. Null: in the program's sequence.
  std::shared_ptr<StepOrders> orders = {};
  // Hears what goes wrong while kernels are made; empty: nobody does.
  std::function<void(const std::string& line)> warn = {};
  bool keeps_batches = false;  // as a resumed run does
};

// Returns the engine choices of --engines or, where a run goes on, of its file `of_run`, which
// counts more. Throws UsageError if a file holds none for `device`.
std::shared_ptr<EngineChoices> read_engines(const DeviceOptions& options, const std::string& device,
                                            const std::string& of_run = {});

// Returns the kernels of `device`. On a CUDA device, `live` must outlive them. With `plan_only`
// nothing is computed or measured and no device is needed, only engine choices that describe the
// card. Throws std::runtime_error that names the flag and the reason; UsageError if choices are
// missing.
std::shared_ptr<Compute> make_compute(const std::string& device, const DeviceOptions& options,
                                      const LiveParts& live, std::int64_t lanes = 1,
                                      bool plan_only = false);

// The same for a run.
std::shared_ptr<Compute> make_compute(const TrainOptions& options, const StepDecisions& decisions,
                                      const LiveParts& live);

// For all runs and dry runs of a command. The options must be resolved.
Context::Options context_options(const TrainOptions& options, const StepDecisions& decisions,
                                 const LiveParts& live, Mode mode);
StepShares step_shares(const TrainOptions& options, const StepDecisions& decisions,
                       const LiveParts& live);

}  // namespace skyline
