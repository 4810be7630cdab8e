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
};

// Throws UsageError if a capacity of the device `cpu` is more than this machine has or leaves free.
// `option` names the option in the message.
void check_capacity(std::string_view option, const std::string& device,
                    const std::optional<std::uint64_t>& capacity_bytes);

// --max-split-size, --garbage-collection-threshold, --expandable-segments and
// --roundup-power2-divisions (caching), --bfc-limit and --no-bfc-growth (bfc), --page-size
// (stitched).
void add_allocator_options(OptionList& list, AllocatorOptions& options);
// Writes their values under the names of their flags.
void write_allocator_options(AllocatorOptions options, nlohmann::ordered_json& json);
// --planner, with the names of all planners.
void add_planner_option(OptionList& list, std::string& planner);
// Throws UsageError for a given option of an allocator that is not among these names.
void check_given_for(const OptionList& list, const std::vector<std::string>& allocators);
// --capacity, the options of allocators, --planner, --policy and --warmup-steps.
void add_memory_options(OptionList& list, MemoryOptions& options);

// Every allocator by its name, without aliases; `planned` is the last.
std::vector<std::string> allocator_names();
// The same with aliases.
std::vector<std::string> allocator_names_and_aliases();
// The MXNet note's planners, whose names also stand for `planned` by them.
const std::vector<std::string>& region_planner_names();
// Everything that a recording is replayed through: all of these.
std::vector<std::string> replayed_names();
// True for `planned` and for the planners that stand for it.
bool is_planned(const std::string& name);
// The same, plus the allocators that only a CUDA device has.
std::vector<std::string> training_allocator_names();
// Throws UsageError if `device` has no such allocator.
void check_device_of(const std::string& allocator, const std::string& device);
// Resolves an alias; returns any other name unchanged.
std::string canonical_allocator_name(const std::string& name);

// "grow", "per-shape", "upper-bound".
const std::vector<std::string>& policy_names();
// Throws std::invalid_argument for an unknown name.
ShapePolicy policy_of(const std::string& name);
std::string policy_name(ShapePolicy policy);

// "planned-grow", "planned-per-shape", "planned-upper-bound": the planned allocator under each
// policy, for comparisons.
std::vector<std::string> planned_names();

// One of several allocators in a comparison: "exact-pool", "planned-grow", "pool@1GiB".
struct ComparedAllocator {
  std::string allocator;                        // no alias; includes the policy
  std::optional<std::uint64_t> capacity_bytes;  // of its device; unset: the same for all

  std::string name() const;  // "best-fit-pool@1GiB"
};
// Throws UsageError for an invalid size; does not check the allocator's name.
ComparedAllocator compared_allocator(const std::string& name);

// Returns `memory` with the allocator, policy, planner and capacity that `name` gives.
MemoryOptions with_policy(MemoryOptions memory, const std::string& name);

}  // namespace skyline
