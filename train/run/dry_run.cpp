#include "train/run/dry_run.h"

#include <utility>

#include "memory/replay/live_bytes.h"
#include "models/models.h"

namespace skyline {

MemoryOptions dry_memory(bool guard) {
  return {.device = "simulated",
          .allocator = std::string(kRunRecorder),
          .guard = guard,
          .record = true};
}

Context::Options dry_context(Context::Options options, Mode mode) {
  options.execute = false;
  options.mode = mode;
  return options;
}

DryRunFacts DryRun::step(std::int64_t batch_size, Mode mode, Graph graph) {
  run_->take_empty_batch(batch_size);
  return step(mode, graph);
}

DryRunFacts DryRun::step(Mode mode, Graph graph) {
  Context& context = run_->context;
  context.set_record_graph(graph == Graph::kOn);
  if (mode == Mode::kTraining) {
    run_->step({});
  } else {
    run_->inference_step();
  }
  RecordedRun recorded = run_->memory.recorder()->run();
  // The recording holds the staging request of the first step. A run of this batch would stage this
  // batch instead.
  if (first_staging_bytes_ == 0) first_staging_bytes_ = context.staging_bytes();
  for (RecordedRun::Request& request : recorded.requests) {
    if (request.tag.op != kStagingOp) continue;
    request.bytes = request.bytes - first_staging_bytes_ + run_->input_bytes();
  }
  return {.step = context.recorded_step(),
          .trace = run_->memory.recording()->last_step(),
          .run = recorded,
          .parameters = parameter_count(run_->network()),
          .resident_bytes = recorded.resident_bytes(kAlignmentBytes),
          .peak_bytes = category_peaks(recorded, 1)};
}

}  // namespace skyline
