#include "train/images/image_dry_run.h"

#include "memory/replay/live_bytes.h"
#include "train/images/image_step.h"

namespace skyline {
namespace {

Context::Options context_options(const DryRunOptions& options) {
  return {.compute = options.compute,
          .execute = false,
          .mode = options.mode,
          .in_place = options.in_place,
          .recompute = options.recompute,
          .fused_update = options.fused_update,
          .prefetch = options.prefetch,
          .convolution_workspace_bytes = options.convolution_workspace_bytes};
}

}  // namespace

DryProgram::DryProgram(const DryRunOptions& options)
    : trace_(recorder_),
      guard_(trace_),
      context_(options.guard ? static_cast<Allocator&>(guard_) : trace_, context_options(options)),
      model_(find_model(options.model).make(context_, options.shape)) {
  if (context_.training()) optimizer_.emplace(context_, *model_);
}

DryRunFacts DryProgram::step(std::int64_t batch_size, Mode mode, Graph graph) {
  context_.set_record_graph(graph == Graph::kOn);
  Batch batch;
  batch.size = static_cast<std::size_t>(batch_size);
  if (mode == Mode::kTraining && optimizer_) {
    training_step(context_, *model_, *optimizer_, batch, {});
  } else {
    inference_step(context_, *model_, batch);
  }
  RecordedRun run = recorder_.run();
  // It tells what the first step staged; a run of this batch stages this batch.
  if (first_staging_bytes_ == 0) first_staging_bytes_ = context_.staging_bytes();
  for (RecordedRun::Request& request : run.requests) {
    if (request.tag.op != kStagingOp) continue;
    request.bytes = request.bytes - first_staging_bytes_ + input_bytes(*model_, batch.size);
  }
  return {.graph = context_.step_graph(),
          .trace = trace_.last_step(),
          .run = run,
          .parameters = parameter_count(*model_),
          .resident_bytes = run.resident_bytes(kAlignmentBytes),
          .peak_bytes = category_peaks(run, 1)};
}

DryRunFacts dry_run(const DryRunOptions& options) {
  return DryProgram(options).step(options.batch_size, options.mode, DryProgram::Graph::kOn);
}

}  // namespace skyline
