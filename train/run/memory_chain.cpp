#include "train/run/memory_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "framework/runner.h"
#include "memory/adaptors/waiting_device.h"
#include "memory/allocators/allocators.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/device_account.h"
#include "memory/device/devices.h"
#include "memory/device/simulated_device.h"
#include "memory/plan_advice.h"
#include "memory/session/plan.h"
#include "memory/solvers/solvers.h"

namespace skyline {

// The plans of a session that a runner advises: it plans as advised where there is room for such a
// plan, and as the planner does otherwise. Bytes are safe under either plan.
class AdvisedPlans {
 public:
  // Null if `compute` is null or its runner advises nothing.
  static std::shared_ptr<AdvisedPlans> of(std::shared_ptr<Compute> compute, std::string planner,
                                          SessionListener listener) {
    if (!compute || compute->runner().advice() == nullptr) return nullptr;
    return std::make_shared<AdvisedPlans>(std::move(compute), std::move(planner),
                                          std::move(listener));
  }

  AdvisedPlans(std::shared_ptr<Compute> compute, std::string planner, SessionListener listener)
      : compute_(std::move(compute)),
        advice_(*compute_->runner().advice()),
        planner_(std::move(planner)),
        tell_(std::move(listener)) {}

  // Of a session. Its second thread may call it, too.
  Plan plan(const Trace& trace) {
    const std::uint64_t room = room_bytes_;
    if (room > 0) {
      std::optional<Plan> advised = advice_.plan(trace);
      if (advised && advised->peak <= room) return *std::move(advised);
      if (advised) refused_bytes_ = advised->peak;
    }
    return skyline::plan(trace, planner_, {}, all_planners());
  }
  // Sets the room: what the device has beside the memory that is reserved now, and at most
  // `most_bytes`. Before it, there is none.
  void give_room(Session& session, std::uint64_t capacity_bytes,
                 std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max()) {
    session.release_cached();
    const std::uint64_t beside = session.statistics().reserved_bytes - session.arena_bytes();
    const std::uint64_t room =
        std::min(most_bytes, capacity_bytes - std::min(capacity_bytes, beside));
    room_bytes_ = room / kCommitBytes * kCommitBytes;
    refused_bytes_ = 0;  // with the room before
  }
  // Gives plans of steps that the runner has learned room, and replaces the plan that was made
  // before. If there is no room, the listener hears of it once. Call it after each step, unless the
  // session adopts a plan before each.
  void suit(Session& session, std::uint64_t capacity_bytes) {
    const std::size_t learned = advice_.learned();
    if (std::exchange(learned_, learned) < learned) {
      give_room(session, capacity_bytes);
      replan(session);
    }
    if (refused_bytes_ == 0 || !tell_) return;
    const std::uint64_t bytes = refused_bytes_;
    std::exchange(tell_, {})(
        {.kind = SessionEvent::Kind::kReplanFailed,
         .shape_key = session.last_key(),
         .peak = bytes,
         .problem =
             fmt::format("a plan that keeps lanes apart needs {} bytes, which is {} more than "
                         "there are; lanes wait where values share bytes",
                         bytes, bytes - room_bytes_)});
  }

 private:
  // A session without a plan yet makes one soon.
  void replan(Session& session) {
    if (session.state() != Session::State::kPlanned) return;
    StepPlan planned = session.plan_for({&session.trace(), 1});
    if (planned.plan.planner != advice_.planner()) return;
    session.adopt_plan(std::move(planned), session.last_key());
  }

  std::shared_ptr<Compute> compute_;  // owns the advice
  PlanAdvice& advice_;
  std::string planner_;
  SessionListener tell_;                          // empty once it has heard of a refused plan
  std::size_t learned_ = 0;                       // kinds of steps
  std::atomic<std::uint64_t> room_bytes_ = 0;     // for the arena
  std::atomic<std::uint64_t> refused_bytes_ = 0;  // a plan that was larger; 0: none
};

namespace {

std::unique_ptr<Device> device_of(const MemoryOptions& options,
                                  const std::shared_ptr<Compute>& compute) {
  std::unique_ptr<Device> device = make_device(options.device, options.capacity_bytes);
  if (!compute || !compute->runner().facts().defers) return device;
  return std::make_unique<WaitingDevice>(std::move(device),
                                         [compute] { compute->runner().finish(); });
}

}  // namespace

struct MemoryChain::ShadowPool {
  explicit ShadowPool(Allocator& upstream) : adaptor(upstream, pool) {}

  SimulatedDevice device;
  BestFitPool pool{device};
  ShadowAdaptor adaptor;
};

MemoryChain::~MemoryChain() = default;

std::optional<std::uint64_t> MemoryChain::shadow_pool_peak_bytes() const {
  if (shadow_pool_ == nullptr) return {};
  return shadow_pool_->pool.statistics().peak_reserved_bytes;
}

MemoryChain::MemoryChain(const MemoryOptions& options, const MemoryWatch& watch,
                         std::shared_ptr<Compute> compute) {
  device_ = device_of(options, compute);
  if (options.allocator == kPlannedAllocator) {
    advised_ = AdvisedPlans::of(std::move(compute), options.planner, watch.listener);
    auto session = make_session(options, watch);
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
  if (watch.shadow_pool) {
    shadow_pool_ = std::make_unique<ShadowPool>(*outermost_);
    outermost_ = &shadow_pool_->adaptor;
  }
  if (watch.record || recorder_ != nullptr) recording_ = wrap<RecordingAdaptor>();
  calls_ = wrap<StatisticsAdaptor>(watch.timed ? StatisticsAdaptor::Timing::kOn
                                               : StatisticsAdaptor::Timing::kOff);
  if (options.check) checking_ = wrap<CheckingAdaptor>();
  if (options.guard) guard_ = wrap<GuardAdaptor>(std::ref(*device_));
  if (options.limit_bytes) limit_ = wrap<LimitAdaptor>(*options.limit_bytes);
}

std::unique_ptr<Session> MemoryChain::make_session(const MemoryOptions& options,
                                                   const MemoryWatch& watch) {
  SessionOptions session{.warmup_steps = options.warmup_steps,
                         .policy = options.policy.value_or(ShapePolicy::kPerShape),
                         .planner = options.planner,
                         .planner_table = all_planners(),
                         .matching = watch.matching,
                         .listener = watch.listener};
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
