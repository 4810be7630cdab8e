#include "train/run/memory_chain.h"

#include <functional>

#include "framework/lanes/cpu_lanes.h"
#include "memory/adaptors/waiting_device.h"
#include "memory/allocators/allocators.h"
#include "memory/device/devices.h"
#include "memory/planners/solvers/solver_planners.h"

namespace skyline {
namespace {

std::unique_ptr<Device> device_of(const MemoryOptions& options,
                                  const std::shared_ptr<Compute>& compute) {
  std::unique_ptr<Device> device = make_device(options.device, options.capacity_bytes);
  if (!compute || !compute->defers()) return device;
  return std::make_unique<WaitingDevice>(std::move(device), [compute] { compute->finish(); });
}

// Gives each block of a step that runs on lanes bytes that no lane waits for, if the device has
// them. Bytes are safe either way.
StepPlanner step_planner(const MemoryOptions& options, const std::shared_ptr<Compute>& lanes,
                         std::size_t capacity_bytes) {
  return [planner = options.planner, lanes, capacity_bytes](const Trace& trace) {
    std::optional<Plan> parallel = lanes->lanes()->steps.plan(trace);
    if (parallel && parallel->peak <= capacity_bytes) return *std::move(parallel);
    return plan(trace, planner, {}, all_planners());
  };
}

}  // namespace

MemoryChain::MemoryChain(const MemoryOptions& options, std::shared_ptr<Compute> compute) {
  device_ = device_of(options, compute);
  if (compute != nullptr && compute->lanes() == nullptr) compute.reset();
  if (options.allocator == kPlannedAllocator) {
    auto session = std::make_unique<Session>(
        *device_, SessionOptions{.warmup_steps = options.warmup_steps,
                                 .policy = options.policy.value_or(ShapePolicy::kPerShape),
                                 .planner = options.planner,
                                 .planner_table = all_planners(),
                                 .step_planner = compute ? step_planner(options, compute,
                                                                        device_->capacity_bytes())
                                                         : StepPlanner(),
                                 .listener = options.listener});
    session_ = session.get();
    base_ = std::move(session);
  } else if (options.allocator == kRunRecorder) {
    auto recorder = std::make_unique<RunRecorder>();
    recorder_ = recorder.get();
    base_ = std::move(recorder);
  } else {
    base_ = make_allocator(options.allocator, *device_, options.allocator_options);
  }
  outermost_ = base_.get();
  if (options.record) recording_ = wrap<RecordingAdaptor>();
  calls_ = wrap<StatisticsAdaptor>(options.timed ? StatisticsAdaptor::Timing::kOn
                                                 : StatisticsAdaptor::Timing::kOff);
  if (options.check) checking_ = wrap<CheckingAdaptor>();
  if (options.guard) guard_ = wrap<GuardAdaptor>(std::ref(*device_));
  if (options.limit_bytes) limit_ = wrap<LimitAdaptor>(*options.limit_bytes);
}

}  // namespace skyline
