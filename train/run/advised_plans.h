#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "framework/compute.h"
#include "memory/plan_advice.h"
#include "memory/session/session.h"

namespace skyline {

// The plans of a session that a runner advises: it plans as advised where there is room for such a
// plan, and as the planner does otherwise. Bytes are safe under either plan.
class AdvisedPlans {
 public:
  // Null if `compute` is null or its runner advises nothing.
  static std::shared_ptr<AdvisedPlans> of(std::shared_ptr<Compute> compute, std::string planner,
                                          SessionListener listener);

  AdvisedPlans(std::shared_ptr<Compute> compute, std::string planner, SessionListener listener);

  // Of a session. Its second thread may call it, too.
  Plan plan(const Trace& trace);
  // Sets the room: what the device has beside the memory that is reserved now, and at most
  // `most_bytes`. Before it, there is none.
  void give_room(Session& session, std::uint64_t capacity_bytes,
                 std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());
  // Gives plans of steps that the runner has learned room, and replaces the plan that was made
  // before. If there is no room, the listener hears of it once. Call it after each step, unless the
  // session adopts a plan before each.
  void suit(Session& session, std::uint64_t capacity_bytes);

 private:
  void replan(Session& session);

  std::shared_ptr<Compute> compute_;  // owns the advice
  PlanAdvice& advice_;
  std::string planner_;
  SessionListener tell_;                          // empty once it has heard of a refused plan
  std::size_t learned_ = 0;                       // kinds of steps
  std::atomic<std::uint64_t> room_bytes_ = 0;     // for the arena
  std::atomic<std::uint64_t> refused_bytes_ = 0;  // a plan that was larger; 0: none
};

}  // namespace skyline
