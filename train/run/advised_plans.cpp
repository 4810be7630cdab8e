#include "train/run/advised_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/runner.h"
#include "memory/device/device_account.h"
#include "memory/session/plan.h"
#include "memory/solvers/solvers.h"

namespace skyline {

std::shared_ptr<AdvisedPlans> AdvisedPlans::of(std::shared_ptr<Compute> compute,
                                               std::string planner, SessionListener listener) {
  if (!compute || compute->runner().advice() == nullptr) return nullptr;
  return std::make_shared<AdvisedPlans>(std::move(compute), std::move(planner),
                                        std::move(listener));
}

AdvisedPlans::AdvisedPlans(std::shared_ptr<Compute> compute, std::string planner,
                           SessionListener listener)
    : compute_(std::move(compute)),
      advice_(*compute_->runner().advice()),
      planner_(std::move(planner)),
      tell_(std::move(listener)) {}

Plan AdvisedPlans::plan(const Trace& trace) {
  const std::uint64_t room = room_bytes_;
  if (room > 0) {
    std::optional<Plan> advised = advice_.plan(trace);
    if (advised && advised->peak <= room) return *std::move(advised);
    if (advised) refused_bytes_ = advised->peak;
  }
  return skyline::plan(trace, planner_, {}, all_planners());
}

void AdvisedPlans::give_room(Session& session, std::uint64_t capacity_bytes,
                             std::uint64_t most_bytes) {
  session.release_cached();
  const std::uint64_t beside = session.statistics().reserved_bytes - session.arena_bytes();
  const std::uint64_t room =
      std::min(most_bytes, capacity_bytes - std::min(capacity_bytes, beside));
  room_bytes_ = room / kCommitBytes * kCommitBytes;
  refused_bytes_ = 0;  // with the room before
}

void AdvisedPlans::suit(Session& session, std::uint64_t capacity_bytes) {
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
       .problem = fmt::format("a plan that keeps lanes apart needs {} bytes, which is {} more than "
                              "there are; lanes wait where values share bytes",
                              bytes, bytes - room_bytes_)});
}

// A session without a plan yet makes one soon.
void AdvisedPlans::replan(Session& session) {
  if (session.state() != Session::State::kPlanned) return;
  StepPlan planned = session.plan_for({&session.trace(), 1});
  if (planned.plan.planner != advice_.planner()) return;
  session.adopt_plan(std::move(planned), session.last_key());
}

}  // namespace skyline
