// What a session reports of itself: deviations, events, totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "memory/allocator.h"
#include "memory/tag.h"

namespace skyline {

// How requests of a step find their place in the plan.
enum class Matching : std::uint8_t {
  kByPosition,  // request k is the plan's k-th: programs that repeat the same requests
  kByTag,       // the plan's next request with its tag: loops of varying length
  kBySize,      // the plan's next request of its size, for programs that name nothing; see Arena
};

// Request k of a step is the k-th since it began, without interrupted parts.
using RequestIndex = std::uint32_t;
inline constexpr RequestIndex kStepEnd = std::numeric_limits<RequestIndex>::max();

// How a step deviated from its plan.
enum class Deviation : std::uint8_t {
  kBeyondPlan,       // more requests than planned
  kBetween,          // no remaining request of the plan has its tag
  kLarger,           // more bytes than planned
  kOverdue,          // a block was alive after its planned release
  kOverlapsOverdue,  // an overdue block held the planned bytes
  kOutlivesStep,     // a block was alive when the next step began
};
std::string_view deviation_name(Deviation deviation);  // "overlaps an overdue block"

// The first deviation of a step.
struct DeviationFacts {
  RequestIndex request = 0;
  Deviation kind = Deviation::kBeyondPlan;
  bool refused = false;             // by the fallback's limit; the step was cut
  std::uint64_t bytes = 0;          // requested; 0 when the size does not deviate
  std::uint64_t planned_bytes = 0;  // rounded; 0 beyond the plan
  BlockTag tag = {};                // of the request; empty if unknown
  std::size_t count = 0;            // deviations of the step
};

// A report of a session while it runs.
struct SessionEvent {
  enum class Kind {
    kSwitched,      // the first plan serves
    kDeviated,      // a planned step deviated; sent after the step
    kReplanned,     // a new plan serves, after deviations or for another shape key
    kAdopted,       // an adopted plan serves
    kReplanFailed,  // the device cannot hold the new plan; nothing changed
  };
  Kind kind = Kind::kSwitched;
  std::uint64_t step = 0;  // steps begun before this event
  ShapeKey shape_key = 0;

  // About the plan; all kinds but kDeviated.
  std::size_t blocks = 0;
  std::uint64_t lower_bound = 0, peak = 0;  // bytes
  double gap = 0;
  bool proved_optimal = false;
  double planning_seconds = 0;    // without the validator
  double validation_seconds = 0;  // of the validator
  bool in_background = false;     // by the background thread

  // Reserved bytes of arena, pool and fallback, before planning and with the plan installed. All
  // kinds but kDeviated.
  std::size_t reserved_bytes_before = 0, reserved_bytes_after = 0;
  std::size_t pool_peak_reserved_bytes = 0;  // includes resident memory
  std::size_t arena_bytes = 0;

  std::optional<DeviationFacts> deviation = {};  // kDeviated
  std::string problem = {};                      // kReplanFailed: the device's message
};

using SessionListener = std::function<void(const SessionEvent&)>;

// Totals of a session.
struct SessionStatistics {
  std::uint64_t steps = 0;            // begun
  std::uint64_t planned_steps = 0;    // that began with a plan
  std::uint64_t abandoned_steps = 0;  // cut
  std::uint64_t deviating_steps = 0;
  std::uint64_t deviations = 0;
  std::uint64_t replans = 0;        // after the switch, without failed and adopted ones
  std::uint64_t adopted_plans = 0;  // after the switch
  std::uint64_t failed_replans = 0;
  std::uint64_t background_plans = 0;  // of all plans, made in the background
  std::uint64_t discarded_plans = 0;   // their shape was evicted or adopted anew meanwhile
  double planning_seconds = 0;         // of all plans, without the validator
  double validation_seconds = 0;       // of the validator, all plans
  double last_planning_seconds = 0;
  // Time since the switch that begin_step() spent learning, planning and installing plans.
  double stalled_seconds = 0, longest_stall_seconds = 0;
  std::uint64_t planned_requests = 0;      // served by the arena
  std::uint64_t fallback_requests = 0;     // served by the fallback pool
  std::uint64_t interrupted_requests = 0;  // of steps, made while interrupted
  std::uint64_t pool_calls = 0;            // requests and releases that reached the pool
  std::size_t peak_fallback_reserved_bytes = 0;
  std::size_t peak_fallback_bytes = 0;  // live, rounded
  std::uint64_t device_allocations_since_switch = 0;
  std::size_t peak_reserved_bytes_since_switch = 0;  // 0 before the switch
};

}  // namespace skyline
