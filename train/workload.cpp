#include "train/workload.h"

#include "train/run/model_run.h"

namespace skyline {

std::unique_ptr<ModelRun> Workload::on(const StepDecisions& decisions, const MemoryOptions& memory,
                                       Mode mode) {
  return on(decisions, memory, mode, {});
}

}  // namespace skyline
