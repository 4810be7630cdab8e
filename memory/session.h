#pragma once

#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/adaptors/limit_adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/arena.h"
#include "memory/planner.h"
#include "memory/session_events.h"

namespace skyline {

// What a shape key does to the plan.
enum class ShapePolicy {
  kGrow,        // keys ignored; one plan for the maximum of each request (PGMO's re-optimization)
  kPerShape,    // a plan for each key, all in one arena of the largest peak
  kUpperBound,  // as kGrow, from a trace of the longest shape given to adopt() before training
};

struct SessionOptions {
  int warmup_steps = 1;  // at least 1; the last one is recorded
  ShapePolicy policy = ShapePolicy::kGrow;
  std::string planner{kDefaultPlanner};
  PlanOptions plan;
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
//              before the next step
//
// Requests outside of steps, and while interrupted, go to the pool; they are no part of the plan.
// A block that is still alive when the next step begins is not step memory: from the next plan on
// the pool serves that request. A program that repeats itself is hot after two re-plans at most.
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

  // Plans, where there is something to plan. Throws what the planner throws, then outside of a step
  // and with the plan of before.
  void begin_step(ShapeKey key) override;
  void end_step() override { arena_.end_step(); }
  void abandon_step() override { arena_.abandon_step(); }
  void interrupt() override { arena_.interrupt(); }
  void resume() noexcept override { arena_.resume(); }
  void release_cached() noexcept override { arena_.release_cached(); }

  // Plans a trace given beforehand, from a dry run say, instead of recording one; between steps.
  // Throws TraceError for a trace out of order, OutOfMemory when the device cannot hold the plan.
  void adopt(const Trace& trace, ShapeKey key = 0);

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
  struct Shape {
    std::vector<StepRequest> requests;
    std::vector<StepRequest> doubtful = {};  // a recording in which memory ran out
    CanonicalStep step = {};
    Plan plan = {};
    std::shared_ptr<const StepLayout> layout = {};  // null: to be recorded
    std::uint64_t last_used = 0;
  };

  Shape& shape_for(ShapeKey key);
  void forget_oldest_shape();
  void learn();
  void learn_recording(Shape& shape);
  void learn_deviations(Shape& shape);
  DeviationFacts first_deviation(const Shape& shape) const;
  Shape make_plan(std::vector<StepRequest> requests);
  void replan(Shape& shape, std::vector<StepRequest> requests);
  void commit_for(const Shape& replaced, const Shape& planned);
  void move_off_survivors();
  std::uint64_t largest_peak_bytes(const Shape* except) const;
  void enter_plan(Shape& shape, Shape planned, SessionEvent event);
  SessionEvent event_before(const Shape& planned) const;
  void tell(const SessionEvent& event) const;

  SessionOptions options_;
  BestFitPool pool_;
  BestFitPool unbounded_fallback_;
  LimitAdaptor fallback_;
  Arena arena_;

  std::unordered_map<ShapeKey, Shape> shapes_;
  ShapeKey key_ = 0;          // of the step begun last
  Shape* current_ = nullptr;  // its shape
  Shape* running_ = nullptr;  // the same until its log is learned
  std::uint64_t uses_ = 0;    // of shapes
  SessionStatistics totals_;
  std::uint64_t device_allocations_at_switch_ = 0;
  bool switched_ = false;
};

}  // namespace skyline
