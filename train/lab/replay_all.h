#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocators/allocator_options.h"
#include "memory/planners/registry.h"
#include "memory/replay/event_replay.h"

namespace skyline {

class ReplayOutputs;

// How a recorded event trace is replayed.
struct ReplayOptions {
  std::vector<std::string> allocators = {};  // names, no aliases; `planned` is a session
  AllocatorOptions allocator_options = {};
  std::optional<std::uint64_t> capacity_bytes = {};  // of each allocator's own device
  std::string planner{kDefaultPlanner};              // of the plan, and of `planned`
  std::uint64_t plan_limit_blocks = 100'000;         // longer traces are not planned; 0: none is
  std::optional<double> time_limit_seconds = {};     // of the plan
};

// What one allocator did.
struct ReplayRow {
  ReplayFigures figures;
  std::optional<std::size_t> segments;  // at the end; empty from an allocator that does not tell
  // Of `planned`, without its warm-up; empty before the switch, and of the others.
  std::optional<std::size_t> peak_reserved_bytes_since_switch;
};

// The trace as one packing, all its blocks known in advance.
struct ReplayPlan {
  std::optional<Plan> plan;
  std::string left_out;  // why there is none
};

struct ReplayResult {
  std::vector<ReplayRow> rows;  // in the order of the options
  std::uint64_t events = 0;     // allocations and frees
  std::uint64_t steps = 0, blocks = 0, peak_live_blocks = 0;
  std::uint64_t unknown_frees = 0;              // of blocks from before the recording
  std::optional<std::uint64_t> lower_bound;     // bytes, rounded to 512; empty: above 2^63 − 1
  std::optional<std::uint64_t> capacity_bytes;  // as given
  ReplayPlan plan;

  bool ran_out_of_memory() const;
};

// Sends the events, once, through every allocator at the same time, each on a device of its own
// without memory, and to `outputs` (may be null), which are finished but not committed. Constant
// memory beside the live blocks, up to the limit the blocks for the plan, and the slots of
// `network-wise`, which reuses nothing inside a step.
// Throws TraceError for events that make no sense, std::invalid_argument for an unknown name.
ReplayResult replay_events(EventReader& reader, const ReplayOptions& options,
                           ReplayOutputs* outputs = nullptr);

}  // namespace skyline
