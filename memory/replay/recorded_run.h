#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocators/account.h"
#include "memory/allocators/allocator_options.h"
#include "memory/device/device_account.h"
#include "memory/planners/planner.h"
#include "memory/trace.h"

namespace skyline {

// What a program asks of its allocator: for what it keeps, then in one step, which it repeats.
struct RecordedRun {
  struct Request {
    std::uint64_t bytes = 0;
    BlockTag tag;
    bool operator==(const Request&) const = default;
  };
  enum class Act : std::uint8_t { kAllocate, kFree, kInterrupt, kResume };
  struct Event {
    Act act = Act::kAllocate;
    std::uint32_t request = 0;  // of an allocation or a free: its place among the requests
    bool operator==(const Event&) const = default;
  };

  std::vector<Request> requests = {};  // in their order: those before the steps, those of the step
  std::vector<Event> before = {};      // the steps
  std::vector<Event> step = {};        // that ended last
  ShapeKey key = 0;                    // of the step

  // Bytes alive when the steps begin, each request rounded to `alignment`.
  std::uint64_t resident_bytes(std::uint64_t alignment) const;
  // The most bytes alive at once, each request rounded to `alignment`: no device that holds less
  // runs the program. O(events).
  std::uint64_t most_bytes(std::uint64_t alignment) const;
};

// Serves every request with an address and no memory, and notes it: what stands under a program
// that computes nothing. Requests between steps, and of steps before the last one, are forgotten.
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

 private:
  enum class State { kBeforeSteps, kInStep, kBetweenSteps };

  void note(RecordedRun::Event event) noexcept;

  RecordedRun run_;
  Account account_;
  State state_ = State::kBeforeSteps;
  std::uint64_t steps_ = 0;          // begun; a cookie is the step's number over the request's
  std::size_t requests_before_ = 0;  // the steps
};

// The allocator that a recorded run is sent through, and its device.
struct ReplayChoice {
  std::string allocator;  // of the table, or `planned`; no alias
  AllocatorOptions allocator_options = {};
  std::string planner{kDefaultPlanner};              // of `planned`
  std::optional<std::uint64_t> capacity_bytes = {};  // of the device; unset: no limit
  std::size_t commit_bytes = kCommitBytes;           // what an arena grows in multiples of
};

// What an allocator did with a recorded run.
struct AllocatorUse {
  std::string allocator;
  bool fits = false;
  std::uint64_t peak_reserved_bytes = 0;  // resident memory included; up to the refusal
  std::uint64_t device_allocations = 0;   // with the first step
  std::uint64_t later_device_allocations = 0;
  std::uint64_t flushes = 0;
  int steps = 0;        // until one asked nothing of the device, or kMostReplayedSteps
  std::string problem;  // why it does not fit; empty when it does
};
inline constexpr int kMostReplayedSteps = 10;

// Sends a run through a fresh allocator on a simulated device: exactly what the program itself
// would do there, since no request depends on the allocator. `planned` plans `step`, the trace of
// the run's step, beforehand: its program needs no warm-up on the pool.
// Throws std::invalid_argument for an unknown name, what the planner throws.
AllocatorUse replay_run(const RecordedRun& run, const Trace& step, const ReplayChoice& choice);

}  // namespace skyline
