#include "framework/lanes/lane_runner.h"

#include <fmt/format.h>
#include <omp.h>

#include <utility>

#include "framework/kernel_cache.h"
#include "framework/lanes/wide_op.h"
#include "memory/lanes/lane_planner.h"

namespace skyline {

void LaneRunner::begin_step(StepKind kind) {
  queue_.finish();
  queue_.forget_error();
  steps_.begin(kind);
  ops_ = 0;
}

std::size_t LaneRunner::begin_op(const OpName& name) {
  ++ops_;
  lane_ = steps_.next(name.phase, name.op, name.layer);
  return lane_.value_or(0);
}

void LaneRunner::run(const OpCall& call, KernelCache& kernels) {
  if (steps_.is_timed()) {
    run_timed(call, steps_.wide());
  } else if (runs_here()) {
    run_here(call);
  } else {
    enqueue(call, kernels);
  }
}

// Enqueued ops are done when it returns true.
bool LaneRunner::runs_here() {
  if (queue_.idle() && steps_.alone()) return true;
  if (steps_.on_lanes() && !steps_.wide()) return false;
  queue_.wait();
  return true;
}

void LaneRunner::run_here(const OpCall& call) {
  std::optional<WideOp> wide;
  if (steps_.wide()) wide.emplace(queue_);
  call.kernel->run(OpAddresses(call).arguments());
}

double LaneRunner::run_timed(const OpCall& call) { return run_timed(call, false); }

double LaneRunner::run_timed(const OpCall& call, bool is_wide) {
  queue_.wait();
  std::optional<WideOp> wide;
  if (is_wide) {
    wide.emplace(queue_);
    WideOp::share(static_cast<std::int64_t>(queue_.lanes()), 1,
                  [](std::int64_t, std::int64_t) {});  // wakes the lanes
  }
  const std::uint64_t shares = queue_.shares();
  const double seconds = Runner::run_timed(call);
  if (steps_.is_timed()) steps_.time(ops_ - 1, seconds, shares < queue_.shares());
  return seconds;
}

// Takes everything that the program may change before the op runs.
void LaneRunner::enqueue(const OpCall& call, KernelCache& kernels) {
  std::vector<ByteRange> reads, writes;
  for (const Tensor& input : call.inputs) reads.push_back({input.address(), input.spec().bytes()});
  for (const Tensor& output : call.outputs) {
    writes.push_back({output.address(), output.spec().bytes()});
  }
  if (call.workspace.bytes() > 0) {
    writes.push_back({call.workspace.address(), call.workspace.bytes()});
  }
  std::size_t lane = lane_.value_or(0);
  std::shared_ptr<Kernel> kernel = call.kernel;
  if (!lane_) {
    const OpName& name = call.name;
    lane = steps_.soonest(name.phase, name.op, name.layer, queue_.before(reads, writes),
                          queue_.enqueued());
    if (lane > 0 && call.op.cacheable()) kernel = kernels.get(call.op, call.specs, lane);
  }
  queue_.enqueue(
      lane, reads, writes,
      [kernel = std::move(kernel), addresses = OpAddresses(call), threads = omp_get_max_threads()] {
        omp_set_num_threads(threads);  // each lane has a number of its own
        kernel->run(addresses.arguments());
      });
}

void LaneRunner::end_step(const StepGraph& graph) {
  queue_.wait();
  if (steps_.is_timed()) steps_.learn(graph);
  steps_.end();
}

std::string_view LaneRunner::planner() const { return kLanesPlanner; }

std::optional<std::string> LaneRunner::take_news() {
  if (told_ || !steps_.gave_up(StepKind::kTraining)) return {};
  told_ = true;
  return fmt::format(
      "--lanes {}: lanes take less than 15 % off a step; the run goes on with one lane",
      queue_.lanes());
}

LaneRunner* lane_runner(Compute& compute) { return dynamic_cast<LaneRunner*>(&compute.runner()); }

}  // namespace skyline
