#pragma once

#include <memory>

#include "train/cli/console.h"
#include "train/data_results.h"
#include "train/decide/live_parts.h"
#include "train/run/dry_run.h"
#include "train/run/model_run.h"
#include "train/workload.h"

namespace skyline::tests {

// Makes a training run as `skyline train` does.
inline std::unique_ptr<ModelRun> run_on(const DecidedWorkload& decided, const MemoryOptions& memory,
                                        const MemoryWatch& watch = {}) {
  return decided.workload->on(decided.decisions, memory, Mode::kTraining, watch);
}

inline DryRunFacts longest_step(const DecidedWorkload& decided) {
  return decided.workload->longest_step(decided.decisions, Mode::kTraining);
}

}  // namespace skyline::tests
