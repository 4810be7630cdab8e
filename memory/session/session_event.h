#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "memory/session/step_log.h"

namespace skyline {

// The first deviation of a step.
struct DeviationFacts {
  RequestIndex request = 0;
  Deviation kind = Deviation::kBeyondPlan;
  bool refused = false;             // by the fallback's limit: the step was cut short
  std::uint64_t bytes = 0;          // asked for; 0 where the size is not what deviates
  std::uint64_t planned_bytes = 0;  // rounded; 0 beyond the plan
  BlockTag tag = {};                // of the request; empty where unknown
  std::size_t count = 0;            // of all deviations of the step
};

// What a session tells while it runs.
struct SessionEvent {
  enum class Kind {
    kSwitched,      // the first plan serves from now on
    kDeviated,      // a planned step left its plan; comes after the step
    kReplanned,     // a new plan serves: after deviations, or for another shape key
    kAdopted,       // a new plan serves that adopt() was given
    kReplanFailed,  // the device cannot hold the new plan; all stays as it was
  };
  Kind kind = Kind::kSwitched;
  std::uint64_t step = 0;  // steps begun before, from 0
  ShapeKey shape_key = 0;

  // Of the plan; all but kDeviated.
  std::size_t blocks = 0;
  std::uint64_t lower_bound = 0, peak = 0;  // bytes
  double gap = 0;
  bool proved_optimal = false;
  double planning_seconds = 0;
  bool in_background = false;  // planned beside the steps

  // Reserved bytes of arena, pool and fallback: before planning, and with the plan in place. The
  // difference is what was saved (or taken). All but kDeviated.
  std::size_t reserved_bytes_before = 0, reserved_bytes_after = 0;
  std::size_t pool_peak_reserved_bytes =
      0;  // the most the pool ever held, resident memory included
  std::size_t arena_bytes = 0;

  std::optional<DeviationFacts> deviation = {};  // kDeviated
  std::string problem = {};                      // kReplanFailed: the device's sentence
};

using SessionListener = std::function<void(const SessionEvent&)>;

// Totals of a session.
struct SessionStatistics {
  std::uint64_t steps = 0;            // begun
  std::uint64_t planned_steps = 0;    // begun with a plan
  std::uint64_t abandoned_steps = 0;  // cut short
  std::uint64_t deviating_steps = 0;
  std::uint64_t deviations = 0;
  std::uint64_t replans = 0;        // after the switch; failed and adopted ones not counted
  std::uint64_t adopted_plans = 0;  // after the switch
  std::uint64_t failed_replans = 0;
  std::uint64_t background_plans = 0;  // of all plans, those made beside the steps
  std::uint64_t discarded_plans = 0;   // made for a shape that was gone, or adopted anew, by then
  double planning_seconds = 0;         // all plans, the first included
  double last_planning_seconds = 0;
  // That begin_step stood still since the switch to learn, to plan and to put plans in place.
  double stalled_seconds = 0, longest_stall_seconds = 0;
  std::uint64_t planned_requests = 0;   // served by the arena
  std::uint64_t fallback_requests = 0;  // served by the fallback pool
  std::uint64_t pool_calls = 0;         // requests and releases that reached the pool
  std::size_t peak_fallback_reserved_bytes = 0;
  std::size_t peak_fallback_bytes = 0;  // of live blocks, rounded
  std::uint64_t device_allocations_since_switch = 0;
  std::size_t peak_reserved_bytes_since_switch = 0;  // 0 before the switch
};

}  // namespace skyline
