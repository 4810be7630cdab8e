#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocators/allocators.h"
#include "memory/planners/registry.h"
#include "memory/replay/event_replay.h"

namespace skyline {

class ReplayOutputs;

inline constexpr std::uint64_t kSlotsWithoutWarning = 1 << 20;

// Options for replaying a recorded event trace.
struct ReplayOptions {
  std::vector<std::string> allocators = {};  // full names, no aliases; `planned` is a session
  AllocatorOptions allocator_options = {};
  std::optional<std::uint64_t> capacity_bytes = {};  // of each allocator's own device
  std::string planner{kDefaultPlanner};              // for the plan and for `planned`
  std::uint64_t plan_limit_blocks = 100'000;         // longer traces are not planned; 0: never plan
  std::optional<double> time_limit_seconds = {};     // for making the plan
  // Called once, before `network-wise` keeps more than kSlotsWithoutWarning slots.
  std::function<void(const std::string&)> warn = {};
};

// Results of one allocator.
struct ReplayRow {
  ReplayFigures figures;
  std::optional<std::size_t> segments;  // at the end; empty if the allocator does not report it
  // Only for `planned`: the peak while its plan serves, without its warm-up. A recording of a
  // single step is served once more, as the step that follows the warm-up. Empty if no plan served.
  std::optional<std::size_t> peak_reserved_bytes_since_switch;
};

// A plan of the whole trace, with all blocks known in advance.
struct ReplayPlan {
  std::optional<Plan> plan;
  std::string left_out;  // why there is no plan
};

struct ReplayResult {
  std::vector<ReplayRow> rows;  // in the order of the options
  std::uint64_t events = 0;     // allocations and frees
  std::uint64_t steps = 0, blocks = 0, peak_live_blocks = 0;
  std::uint64_t unknown_frees = 0;              // frees of blocks allocated before the recording
  std::optional<std::uint64_t> lower_bound;     // bytes, rounded to 512; empty: above 2^63 − 1
  std::optional<std::uint64_t> capacity_bytes;  // as in the options
  ReplayPlan plan;

  bool ran_out_of_memory() const;
};

// Reads the events once and sends each through every allocator and to `outputs` (may be null),
// which this function finishes but does not commit. Each allocator has its own simulated device.
// Memory: the live blocks, up to plan_limit_blocks blocks for the plan, and the slots of
// `network-wise`: it reuses nothing inside a step and must know each slot's size when the next step
// begins, so it cannot hold fewer. Everything else is constant.
// Throws TraceError for inconsistent events, std::invalid_argument for an unknown allocator.
ReplayResult replay_events(EventReader& reader, const ReplayOptions& options,
                           ReplayOutputs* outputs = nullptr);

}  // namespace skyline
