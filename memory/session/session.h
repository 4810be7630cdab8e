#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memory/allocator.h"
#include "memory/planners/registry.h"
#include "memory/session/session_event.h"

namespace skyline {

class Arena;
class Device;
struct SessionShape;
struct StepPlan;
struct StepRecording;

// The session's name in tables of allocators, and the allocator whose pool serves its warm-up.
inline constexpr std::string_view kPlannedAllocator = "planned";
inline constexpr std::string_view kWarmUpAllocator = "best-fit-pool";

// How plans follow shape keys. Each policy applies to training and to inference steps separately:
// the two kinds never share a plan, but all plans share one arena of the largest peak.
enum class ShapePolicy {
  kGrow,      // one plan, for the maximum of each request over all shapes (PGMO's re-optimization)
  kPerShape,  // one plan for each key
  // As kGrow, starting from the plan of the longest shape, adopted before training. The arena stays
  // as large as the largest adopted plan, so that each step may adopt a plan of its own.
  kUpperBound,
};

struct SessionOptions {
  int warmup_steps = 1;  // at least 1; the last one is recorded
  ShapePolicy policy = ShapePolicy::kGrow;
  std::string planner{kDefaultPlanner};
  PlannerTable planner_table = planners();  // where the name is looked up
  PlanOptions plan;
  // kByTag if steps are known to differ in their number of requests; else the session finds out.
  // kBySize for programs without tags.
  Matching matching = Matching::kByPosition;
  StepPlanner step_planner;  // if set, plans instead of `planner` and `plan`
  // Re-plans on a second thread while the old plan serves. Then block addresses, and the step that
  // a plan starts with, depend on timing; results do not. Default: on if there is a second core and
  // the device has real memory.
  std::optional<bool> background;
  bool first_in_background = false;  // the first plan, too; needs `background`
  // So many plans in a row are made anew after the first step that deviates from them. Each further
  // one waits for twice as many such steps: a program that never repeats itself has few plans.
  std::size_t eager_plans = std::numeric_limits<std::size_t>::max();
  // Limits the live bytes of the fallback pool, each request rounded.
  std::size_t fallback_limit_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t max_shapes = 64;  // kPerShape: plans kept; the least recently used one goes
  // Address space of the arena, the limit of every plan; at most the device's capacity is used.
  std::size_t address_bytes = std::size_t{1} << 44;
  SessionListener listener;  // may be empty; called between steps
};

// Drives a run (PGMO section 4) on one device:
//
//   warm-up    the pool serves the requests, and the step is recorded
//   switch     before the next step: plan the recording, return the pool's cache, commit the arena
//   planned    request k returns base + offset[k]; the pool keeps resident memory
//   deviation  free bytes of the arena (if steps are known to differ) or the fallback pool serve
//              it; it is logged and merged into the recording, which is planned again before the
//              next step, or in the background
//
// Three forms carry a step from observation to addresses:
//
//   recording  StepRecording: each request's bytes and lifetime, merged from the StepLogs of the
//              steps that one plan serves
//   plan       Plan: an offset for each block of the recording's trace (canonical_step)
//   layout     StepLayout: the plan as flat tables in request order, which the Arena reads
//
// StepPlan holds all three, one for each shape that the policy distinguishes (ShapeTable).
//
// The background makes one plan at a time, for the newest recording; begin_step() installs finished
// plans. The first plan is made by begin_step() itself, unless the options say otherwise.
//
// Requests match the plan by position. Once steps differ in their number of requests (loops over
// sequences of several lengths), they match by tag, which costs one tag comparison each: see
// TagMatcher.
//
// Requests outside of steps, and while interrupted, are not planned. Interrupted requests between
// steps, and steps without a plan, use the free bytes of the arena first. So an evaluation takes no
// memory beside the training plan as long as it fits, planned or not.
// A block that is alive when the next step begins is not step memory: the pool serves its request
// from the next plan on. A program that repeats itself is hot after at most three re-plans.
//
// Sound whatever the program does (see Arena). CheckingAdaptor verifies that on every hand-out,
// GuardAdaptor poisons freed blocks.
//
// When the device cannot hold a new plan, the pool or the old plan keeps serving.
// A step may end at any request, by abandon_step() or by begin_step() without end_step(). A
// recorded step that was cut or ran out of memory is recorded again; when the shortage repeats, it
// belongs to the program and is planned.
//
// Thread rule: one thread at a time, any thread; who shares a session among threads locks it.
//
//   Session session(device, {.listener = print});
//   Block weights = session.allocate(bytes, tag);            // resident
//   for (...) { session.begin_step(key); ...; session.end_step(); }
class Session final : public Allocator {
 public:
  enum class State { kWarmUp, kPlanned };

  // The device outlives the session. Throws std::invalid_argument for an unknown planner, no
  // warm-up step, no shape or a bad alignment.
  explicit Session(Device& device, SessionOptions options = {});

  ~Session() override;

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  // Reserved = arena + pool + fallback pool.
  Statistics statistics() const override;

  // Installs a finished plan, or plans what the last steps showed. Throws what the planner throws;
  // then no step has begun and the old plan stays.
  void begin_step(ShapeKey key) override;
  void end_step() override;
  void abandon_step() override;
  void interrupt() override;
  void resume() noexcept override;
  void release_cached() noexcept override;

  // Plans a given trace, of a dry run for example, instead of a recording; between steps. Throws
  // TraceError for a trace out of order, OutOfMemory when the device cannot hold the plan.
  void adopt(const Trace& trace, ShapeKey key = 0) { adopt({&trace, 1}, key); }
  // The same with one plan for several different steps. It serves each of them, and each step that
  // makes some of their requests in their order, no larger and alive no longer.
  void adopt(std::span<const Trace> traces, ShapeKey key = 0);
  // The two halves of adopt(). The first is pure and may run on any thread.
  StepPlan plan_for(std::span<const Trace> traces) const;
  void adopt_plan(StepPlan planned, ShapeKey key = 0);

  // True while the background plans, or has a plan that begin_step() will install.
  bool planning() const noexcept;
  // Waits for the background plan.
  void wait_for_plan() const;

  // The key and the state of the step begun last.
  ShapeKey last_key() const noexcept { return key_; }
  State state() const noexcept;
  // The planned trace and its plan for the shape of the step begun last; empty during warm-up.
  // Requests that outlive their step are left out.
  const Trace& trace() const noexcept;
  const Plan& plan() const noexcept;

  SessionStatistics session_statistics() const;
  std::size_t arena_bytes() const noexcept;
  Statistics pool_statistics() const;
  Statistics fallback_statistics() const;

 private:
  struct Parts;

  void catch_up();
  void learn(SessionShape& shape);
  void learn_recording(SessionShape& shape);
  void learn_deviations(SessionShape& shape);
  bool turns_to_tags(SessionShape& shape);
  bool waits(SessionShape& shape) const;
  bool outgrows(SessionShape& shape, const StepRecording& recording) const;
  void want(SessionShape& shape, StepRecording recording);
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
  std::unique_ptr<Parts> parts_;
  Arena& arena_;  // of the parts

  ShapeKey key_;                     // of the step begun last
  SessionShape* running_ = nullptr;  // its shape, until learned from
  bool wanted_ = false;              // a shape may have a recording to plan
  std::uint64_t adopted_bytes_ = 0;  // kUpperBound: the largest plan adopted
  SessionStatistics totals_;
  std::uint64_t device_allocations_at_switch_ = 0;
  bool switched_ = false;
};

}  // namespace skyline
