#include "train/run/memory_chain.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "framework/runner.h"
#include "memory/adaptors/waiting_device.h"
#include "memory/allocators/allocators.h"
#include "memory/device/device_account.h"
#include "memory/device/devices.h"
#include "memory/lanes/lane_planner.h"
#include "memory/solvers/solvers.h"

namespace skyline {
namespace {

std::unique_ptr<Device> device_of(const MemoryOptions& options,
                                  const std::shared_ptr<Compute>& compute) {
  std::unique_ptr<Device> device = make_device(options.device, options.capacity_bytes);
  if (!compute || !compute->runner().facts().defers) return device;
  return std::make_unique<WaitingDevice>(std::move(device),
                                         [compute] { compute->runner().finish(); });
}

}  // namespace

MemoryChain::MemoryChain(const MemoryOptions& options, const MemoryWatch& watch,
                         std::shared_ptr<Compute> compute) {
  device_ = device_of(options, compute);
  if (options.allocator == kPlannedAllocator) {
    advised_ = AdvisedPlans::of(std::move(compute), options.planner, watch.listener);
    auto session = make_session(options, watch.listener);
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
  if (watch.record || recorder_ != nullptr) recording_ = wrap<RecordingAdaptor>();
  calls_ = wrap<StatisticsAdaptor>(watch.timed ? StatisticsAdaptor::Timing::kOn
                                               : StatisticsAdaptor::Timing::kOff);
  if (options.check) checking_ = wrap<CheckingAdaptor>();
  if (options.guard) guard_ = wrap<GuardAdaptor>(std::ref(*device_));
  if (options.limit_bytes) limit_ = wrap<LimitAdaptor>(*options.limit_bytes);
}

std::unique_ptr<Session> MemoryChain::make_session(const MemoryOptions& options,
                                                   const SessionListener& listener) {
  SessionOptions session{.warmup_steps = options.warmup_steps,
                         .policy = options.policy.value_or(ShapePolicy::kPerShape),
                         .planner = options.planner,
                         .planner_table = all_planners(),
                         .listener = listener};
  if (advised_) {
    session.step_planner = [advised = advised_](const Trace& trace) {
      return advised->plan(trace);
    };
  }
  return std::make_unique<Session>(*device_, std::move(session));
}

void MemoryChain::give_advice_room(std::uint64_t most_bytes) {
  if (advised_) advised_->give_room(*session_, device_->capacity_bytes(), most_bytes);
}

void MemoryChain::suit_advice() {
  if (advised_) advised_->suit(*session_, device_->capacity_bytes());
}

}  // namespace skyline
