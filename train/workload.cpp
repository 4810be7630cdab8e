#include "train/workload.h"

#include <fmt/format.h>
#include "memory/device/cuda_device.h"
#include "memory/device/out_of_memory.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/decide/rank_sums.h"
#include "train/decide/step_seconds.h"
#include "train/run/model_run.h"

namespace skyline {

std::unique_ptr<ModelRun> Workload::on(const StepDecisions& decisions, const MemoryOptions& memory,
                                       Mode mode) {
  return on(decisions, memory, mode, {});
}

}  // namespace skyline
