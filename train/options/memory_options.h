#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/allocators/allocators.h"
#include "memory/session/session.h"

namespace skyline {

class OptionList;

// How a run gets its memory.
struct MemoryOptions {
  std::string device = "cpu";
  std::optional<std::uint64_t> capacity_bytes;  // of the device; unset: its own
  std::string allocator{kPlannedAllocator};
  AllocatorOptions allocator_options;
  std::string planner{kDefaultPlanner};
  std::optional<ShapePolicy> policy;  // unset: per-shape, and upper-bound for seq2seq
  int warmup_steps = 1;
  std::optional<std::uint64_t> limit_bytes;  // of live bytes
  bool guard = false;                        // guard bytes and poison around every block
  bool check = false;                        // compare every block with all live blocks
  bool timed = false;                        // time every call
  bool record = false;                       // keep the trace of the last step
  SessionListener listener;                  // of the planned allocator
};

// Throws UsageError if a capacity of the device `cpu` is more than this machine has or leaves free.
// `option` names the option in the message.
void check_capacity(std::string_view option, const std::string& device,
                    const std::optional<std::uint64_t>& capacity_bytes);

// Returns `memory` with `listener`.
MemoryOptions with_listener(MemoryOptions memory, SessionListener listener);

// --max-split-size, --garbage-collection-threshold, --expandable-segments and
// --roundup-power2-divisions (caching), --bfc-limit and --no-bfc-growth (bfc).
void add_allocator_options(OptionList& list, AllocatorOptions& options);
// Writes their values under the names of their flags.
void write_allocator_options(AllocatorOptions options, nlohmann::ordered_json& json);
// --planner, with the names of all planners.
void add_planner_option(OptionList& list, std::string& planner);
// Throws UsageError for a given option of an allocator that is not among these names.
void check_given_for(const OptionList& list, const std::vector<std::string>& allocators);
// --capacity, the options of allocators, --planner, --policy and --warmup-steps.
void add_memory_options(OptionList& list, MemoryOptions& options);

}  // namespace skyline
