#include "train/run/memory_chain.h"

#include <functional>

#include "memory/allocators/allocators.h"
#include "memory/device/devices.h"
#include "memory/planners/solvers/solver_planners.h"

namespace skyline {

MemoryChain::MemoryChain(const MemoryOptions& options)
    : device_(make_device(options.device, options.capacity_bytes)) {
  if (options.allocator == kPlannedAllocator) {
    auto session = std::make_unique<Session>(
        *device_, SessionOptions{.warmup_steps = options.warmup_steps,
                                 .policy = options.policy.value_or(ShapePolicy::kPerShape),
                                 .planner = options.planner,
                                 .planner_table = all_planners(),
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
