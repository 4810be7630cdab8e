// A program as requests: what it keeps and one step, recorded and replayed under an allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/allocator.h"
#include "memory/allocators/account.h"
#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "memory/planners/registry.h"
#include "memory/session/plan.h"
#include "memory/trace.h"

namespace skyline {

class Session;

// The allocator that a recording is replayed through, and its device.
struct ReplayChoice {
  // A name of the table, no alias; `planned`; or a planner, which stands for `planned` by it.
  std::string allocator;
  AllocatorOptions allocator_options = {};
  std::string planner{kDefaultPlanner};              // of `planned`
  PlannerTable planner_table = planners();           // where that name is looked up
  StepPlanner step_planner = {};                     // if set, plans instead of the planner
  std::optional<std::uint64_t> capacity_bytes = {};  // of the device; unset: no limit
  std::size_t commit_bytes = kCommitBytes;           // arenas grow in multiples of it
};

// A fresh allocator on a simulated device of its own.
class ReplayedAllocator {
 public:
  // Throws std::invalid_argument for an unknown name.
  explicit ReplayedAllocator(const ReplayChoice& choice);

  const SimulatedDevice& device() const noexcept { return device_; }
  Allocator& get() noexcept { return *allocator_; }
  const Allocator& get() const noexcept { return *allocator_; }
  Session* session() noexcept { return session_; }  // null unless `planned`
  const Session* session() const noexcept { return session_; }

 private:
  SimulatedDevice device_;
  std::unique_ptr<Allocator> allocator_;
  Session* session_ = nullptr;
};

// A program's requests: those for what it keeps, then those of one step, which it repeats.
struct RecordedRun {
  struct Request {
    std::uint64_t bytes = 0;
    BlockTag tag;
    bool operator==(const Request&) const = default;
  };
  enum class Act : std::uint8_t { kAllocate, kFree, kInterrupt, kResume };
  struct Event {
    Act act = Act::kAllocate;
    std::uint32_t request = 0;  // index of the request that is allocated or freed
    bool operator==(const Event&) const = default;
  };

  std::vector<Request> requests = {};  // those before the steps, then those of the step
  std::vector<Event> before = {};      // before the steps
  std::vector<Event> step = {};        // of the last complete step
  ShapeKey key = 0;                    // of the step

  // Bytes that an event adds to those alive, the request rounded to `alignment`; negative for a
  // free, 0 for interruptions.
  std::int64_t added_bytes(const Event& event, std::uint64_t alignment) const;
  // Bytes alive when the steps begin, each request rounded to `alignment`.
  std::uint64_t resident_bytes(std::uint64_t alignment) const;
  // The most bytes alive at once, each request rounded to `alignment`: the program needs a device
  // that holds at least this. O(events).
  std::uint64_t most_bytes(std::uint64_t alignment) const;
};

// The run that keeps nothing and whose step is a trace. O(n log n).
RecordedRun run_of(const Trace& trace);

// Records a program's requests and serves each with an address but no memory: the allocator for a
// program that computes nothing. Forgets requests between steps and those of all steps but the
// last.
class RunRecorder final : public Allocator {
 public:
  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override { return account_.now(); }
  void begin_step(ShapeKey key) override;
  void end_step() override { state_ = State::kBetweenSteps; }
  void abandon_step() override { end_step(); }
  void interrupt() override { note({RecordedRun::Act::kInterrupt, 0}); }
  void resume() noexcept override { note({RecordedRun::Act::kResume, 0}); }

  const RecordedRun& run() const noexcept { return run_; }
  void restart_peaks() noexcept { account_.restart_peaks(); }

 private:
  enum class State { kBeforeSteps, kInStep, kBetweenSteps };

  void note(RecordedRun::Event event) noexcept;

  RecordedRun run_;
  Account account_;
  State state_ = State::kBeforeSteps;
  std::uint64_t steps_ = 0;  // begun; a cookie holds the step in its upper half, then the request
  std::size_t requests_before_ = 0;  // the steps
};

// The result of replaying a recorded run under an allocator.
struct AllocatorUse {
  std::string allocator;
  bool fits = false;
  std::uint64_t peak_reserved_bytes = 0;  // with resident memory; if refused, the peak up to then
  std::uint64_t device_allocations = 0;   // up to the end of the first step
  std::uint64_t later_device_allocations = 0;
  std::uint64_t flushes = 0;
  int steps = 0;        // until one asked nothing of the device, at most kMostReplayedSteps
  std::string problem;  // why it does not fit; empty if it does
};
inline constexpr int kMostReplayedSteps = 10;

// Sends a run through a fresh allocator on a simulated device: exactly what the program would do
// there, since no request depends on the allocator. `planned` plans `steps`, the run's step or
// several that its plan must serve, in advance, so it needs no warm-up on the pool. Throws
// std::invalid_argument for an unknown name, and whatever the planner throws.
AllocatorUse replay_run(const RecordedRun& run, std::span<const Trace> steps,
                        const ReplayChoice& choice);
inline AllocatorUse replay_run(const RecordedRun& run, const Trace& step,
                               const ReplayChoice& choice) {
  return replay_run(run, {&step, 1}, choice);
}

}  // namespace skyline
