#pragma once

#include "framework/compute.h"
#include "framework/lanes/lane_queue.h"
#include "framework/lanes/step_lanes.h"
#include "framework/runner.h"
#include "memory/plan_advice.h"

namespace skyline {

// Runs the ops of the CPU on lanes, on those that StepLanes chooses. Advises plans in which no lane
// waits for bytes.
class LaneRunner final : public Runner, private PlanAdvice {
 public:
  explicit LaneRunner(const CpuOptions& options)
      : queue_(options.lanes),
        steps_(options.lanes, options.wake_seconds, options.lanes_must_pay) {}

  void begin_step(StepKind kind) override;
  // While steps are timed, to assign their ops to lanes.
  bool wants_graph() const override { return steps_.is_timed(); }
  // Returns the lane that the op is planned on.
  std::size_t begin_op(const OpName& name) override;
  void run(const OpCall& call, KernelCache& kernels) override;
  double run_timed(const OpCall& call) override;
  void wait() override { queue_.wait(); }
  void finish() noexcept override { queue_.finish(); }
  void end_step(const StepGraph& graph) override;
  RunnerFacts facts() const override { return {.defers = true, .copies = queue_.lanes()}; }
  PlanAdvice* advice() noexcept override { return this; }

  LaneQueue& queue() noexcept { return queue_; }
  StepLanes& steps() noexcept { return steps_; }

 private:
  std::optional<Plan> plan(const Trace& trace) const override { return steps_.plan(trace); }
  std::string_view planner() const override;
  std::size_t learned() const override { return steps_.learned(); }
  std::optional<std::string> take_news() override;

  // Runs the op here if it is alone or wide, or not on lanes at all.
  bool runs_here();
  void run_here(const OpCall& call);
  // `wide`: all lanes share its loops.
  double run_timed(const OpCall& call, bool wide);
  void enqueue(const OpCall& call, KernelCache& kernels);

  LaneQueue queue_;
  StepLanes steps_;
  OpId ops_ = 0;                // of the running step that have begun
  std::optional<LaneId> lane_;  // planned for the last of them
  bool told_ = false;           // that lanes do not pay
};

// Returns the runner of a CPU with several lanes, else null.
LaneRunner* lane_runner(Compute& compute);

}  // namespace skyline
