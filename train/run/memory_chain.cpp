#include "train/run/memory_chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "framework/lanes/cpu_lanes.h"
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
  if (!compute || !compute->defers()) return device;
  return std::make_unique<WaitingDevice>(std::move(device), [compute] { compute->finish(); });
}

}  // namespace

MemoryChain::MemoryChain(const MemoryOptions& options, std::shared_ptr<Compute> compute) {
  device_ = device_of(options, compute);
  if (options.allocator == kPlannedAllocator) {
    if (compute != nullptr && compute->lanes() != nullptr) {
      lane_plans_ = std::make_shared<LanePlans>(std::move(compute));
    }
    auto session = make_session(options);
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

std::unique_ptr<Session> MemoryChain::make_session(const MemoryOptions& options) {
  SessionOptions session{.warmup_steps = options.warmup_steps,
                         .policy = options.policy.value_or(ShapePolicy::kPerShape),
                         .planner = options.planner,
                         .planner_table = all_planners(),
                         .listener = options.listener};
  if (lane_plans_) {
    session.step_planner = step_planner(options, lane_plans_);
    tell_ = options.listener;
  }
  return std::make_unique<Session>(*device_, std::move(session));
}

// Bytes are safe under either plan.
StepPlanner MemoryChain::step_planner(const MemoryOptions& options,
                                      const std::shared_ptr<LanePlans>& plans) {
  return [planner = options.planner, plans](const Trace& trace) {
    const std::uint64_t room = plans->room_bytes;
    if (room > 0) {
      std::optional<Plan> parallel = plans->compute->lanes()->steps.plan(trace);
      if (parallel && parallel->peak <= room) return *std::move(parallel);
      if (parallel) plans->refused_bytes = parallel->peak;
    }
    return plan(trace, planner, {}, all_planners());
  };
}

void MemoryChain::give_lanes_room(std::uint64_t most_bytes) {
  if (!lane_plans_) return;
  session_->release_cached();
  const std::uint64_t capacity = device_->capacity_bytes();
  const std::uint64_t beside = session_->statistics().reserved_bytes - session_->arena_bytes();
  const std::uint64_t room = std::min(most_bytes, capacity - std::min(capacity, beside));
  lane_plans_->room_bytes = room / kCommitBytes * kCommitBytes;
  lane_plans_->refused_bytes = 0;  // with the room before
}

void MemoryChain::suit_lanes() {
  if (!lane_plans_) return;
  const std::size_t learned = lane_plans_->compute->lanes()->steps.learned();
  if (std::exchange(learned_, learned) < learned) {
    give_lanes_room();
    replan_for_lanes();
  }
  if (lane_plans_->refused_bytes > 0 && tell_) tell_refused();
}

// A session without a plan yet makes one soon.
void MemoryChain::replan_for_lanes() {
  if (session_->state() != Session::State::kPlanned) return;
  StepPlan planned = session_->plan_for({&session_->trace(), 1});
  if (planned.plan.planner != kLanesPlanner) return;
  session_->adopt_plan(std::move(planned), session_->last_key());
}

void MemoryChain::tell_refused() {
  const std::uint64_t bytes = lane_plans_->refused_bytes, room = lane_plans_->room_bytes;
  std::exchange(tell_, {})(
      {.kind = SessionEvent::Kind::kReplanFailed,
       .shape_key = session_->last_key(),
       .peak = bytes,
       .problem = fmt::format("a plan that keeps lanes apart needs {} bytes, which is {} more than "
                              "there are; lanes wait where values share bytes",
                              bytes, bytes - room)});
}

}  // namespace skyline
