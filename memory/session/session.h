#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memory/adaptors/limit_adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/planners/planner.h"
#include "memory/session/arena.h"
#include "memory/session/background_planner.h"
#include "memory/session/session_event.h"
#include "memory/session/shape_table.h"

namespace skyline {

// The session's name among the allocators of a table.
inline constexpr std::string_view kPlannedAllocator = "planned";

// What a shape key does to the plan.
enum class ShapePolicy {
  kGrow,      // keys ignored; one plan for the maximum of each request (PGMO's re-optimization)
  kPerShape,  // a plan for each key, all in one arena of the largest peak
  // As kGrow, from the longest shape's plan, given to adopt() before training. The arena stays as
  // large as the largest plan adopted, so that one can be given for each step.
  kUpperBound,
};

struct SessionOptions {
  int warmup_steps = 1;  // at least 1; the last one is recorded
  ShapePolicy policy = ShapePolicy::kGrow;
  std::string planner{kDefaultPlanner};
  PlanOptions plan;
  // By tag from the beginning: where steps are known to make different numbers of requests, so that
  // none has to show it first.
  Matching matching = Matching::kByPosition;
  StepPlanner step_planner;  // unless empty, plans in the place of these two
  // Plans anew beside the steps, which the plan of before serves meanwhile. Where blocks lie, and
  // when a new plan begins to serve, then depends on time; what is computed does not. Unset: where
  // there is a second core and the device has memory, so that steps take time.
  std::optional<bool> background;
  // Of the live bytes that the fallback pool serves, each request rounded.
  std::size_t fallback_limit_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t max_shapes = 64;  // kPerShape: plans kept; the least recently used one goes
  // Reserved for the arena, which no plan can pass: at most the device's capacity.
  std::size_t address_bytes = std::size_t{1} << 44;
  SessionListener listener;  // may be empty; called between steps
};

// Drives a run (PGMO section 4) on one device:
//
//   warm-up    requests go to the pool, and the step is recorded
//   switch     before the next step: plan the recording, give the pool's cached memory back,
//              commit the arena
//   planned    request k returns base + offset[k]; the pool keeps what is resident
//   deviation  served safely by the fallback pool, noted, merged into the recording; re-planned
//              before the next step, or in the background beside the next ones
//
// In the background one plan is made at a time, for what was recorded last; what deviates from the
// plan of before goes on being served by the fallback pool and merged. begin_step puts a plan that
// is finished in place. The first plan is never made there.
//
// Requests find their places in the plan by position. When steps turn out to make other numbers of
// requests (loops over sequences of several lengths), they find them by tag from then on, which
// costs a comparison of tags each: see TagMatcher.
//
// Requests outside of steps, and while interrupted, go to the pool; they are no part of the plan.
// Between steps, interrupted ones have the arena's bytes as far as they reach.
// A block that is still alive when the next step begins is not step memory: from the next plan on
// the pool serves that request. A program that repeats itself is hot after three re-plans at most.
//
// Sound whatever the program does (see Arena). To have that checked on every hand-out, wrap it in a
// CheckingAdaptor; to have freed blocks poisoned, in a GuardAdaptor.
//
// When the device cannot hold a new plan all stays as it was: the pool or the old plan serves.
// A step may be left at any request: by abandon_step(), or by begin_step() without end_step(). A
// recorded step that was cut, or in which memory ran out, is recorded again; shortages that repeat
// themselves belong to the program and are planned with.
//
//   Session session(device, {.listener = print});
//   Block weights = session.allocate(bytes, tag);            // resident
//   for (...) { session.begin_step(key); ...; session.end_step(); }
class Session final : public Allocator {
 public:
  enum class State { kWarmUp, kPlanned };

  // The device outlives the session. Throws std::invalid_argument for an unknown planner, no
  // warm-up step or no shape.
  explicit Session(Device& device, SessionOptions options = {});

  Extent acquire(std::size_t bytes, const Tag& tag) override { return arena_.acquire(bytes, tag); }
  void release(const Extent& extent) noexcept override { arena_.release(extent); }
  // Reserved = arena + pool + fallback pool.
  Statistics statistics() const override { return arena_.statistics(); }

  // Plans, where there is something to plan, or takes what was planned. Throws what the planner
  // threw, then outside of a step and with the plan of before.
  void begin_step(ShapeKey key) override;
  void end_step() override { arena_.end_step(); }
  void abandon_step() override { arena_.abandon_step(); }
  void interrupt() override { arena_.interrupt(); }
  void resume() noexcept override { arena_.resume(); }
  void release_cached() noexcept override { arena_.release_cached(); }

  // Plans a trace given beforehand, from a dry run say, instead of recording one; between steps.
  // Throws TraceError for a trace out of order, OutOfMemory when the device cannot hold the plan.
  void adopt(const Trace& trace, ShapeKey key = 0) { adopt({&trace, 1}, key); }
  // The same for several steps that differ: one plan that serves each of them, and each step whose
  // requests are some of theirs, in their order, no larger and no longer alive.
  void adopt(std::span<const Trace> traces, ShapeKey key = 0) { adopt_plan(plan_for(traces), key); }
  // The two halves of adopt(). The first is pure: it may be run beside the steps, on any thread.
  StepPlan plan_for(std::span<const Trace> traces) const;
  void adopt_plan(StepPlan planned, ShapeKey key = 0);

  // A plan is in work in the background, or waits to be taken by begin_step.
  bool planning() const noexcept { return worker_.busy(); }
  // Returns when no plan is in work.
  void wait_for_plan() const { worker_.wait(); }

  // Of the step begun last.
  State state() const noexcept;
  // What was planned, and how, for the shape of the step begun last; empty during warm-up. Requests
  // that outlive their step are not in it.
  const Trace& trace() const noexcept;
  const Plan& plan() const noexcept;

  SessionStatistics session_statistics() const;
  std::size_t arena_bytes() const noexcept { return arena_.arena_bytes(); }
  Statistics pool_statistics() const { return pool_.statistics(); }
  Statistics fallback_statistics() const { return fallback_.statistics(); }

 private:
  void catch_up();
  void learn(SessionShape& shape);
  void learn_recording(SessionShape& shape);
  void learn_deviations(SessionShape& shape);
  bool turns_to_tags(SessionShape& shape);
  void want(SessionShape& shape, StepDemand demand);
  DeviationFacts first_deviation(const SessionShape& shape) const;
  ShapeKey shape_key(ShapeKey key) const;
  const SessionShape* current() const noexcept;

  void plan_what_is_wanted();
  void plan_here(ShapeKey key, SessionShape& shape);
  bool plan_beside(ShapeKey key, const SessionShape& shape);
  void take_plan();
  void count_plan(const StepPlan& planned);
  bool replan(ShapeKey key, SessionShape& shape, StepPlan planned, bool in_background);
  std::uint64_t bytes_to_hold(const SessionShape* except) const;
  void commit_for(const SessionShape& replaced, const StepPlan& planned);
  void move_off_survivors();
  void enter_plan(SessionShape& shape, StepPlan planned, SessionEvent event);
  SessionEvent event_before(const StepPlan& planned, ShapeKey key) const;
  void tell(const SessionEvent& event) const;

  SessionOptions options_;
  StepPlanner planner_;
  bool background_;
  BestFitPool pool_;
  BestFitPool unbounded_fallback_;
  LimitAdaptor fallback_;
  Arena arena_;

  ShapeTable shapes_;
  ShapeKey key_ = 0;                 // of the step begun last
  SessionShape* running_ = nullptr;  // its shape, until its log is learned
  bool wanted_ = false;              // there may be a shape with a demand to plan
  std::uint64_t adopted_bytes_ = 0;  // kUpperBound: the largest plan adopted
  SessionStatistics totals_;
  std::uint64_t device_allocations_at_switch_ = 0;
  bool switched_ = false;
  BackgroundPlanner worker_;
};

}  // namespace skyline
