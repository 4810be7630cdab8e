#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/options/memory_options.h"

namespace skyline {

// Every allocator by its name, without aliases; `planned` is the last.
std::vector<std::string> allocator_names();
// The same with aliases.
std::vector<std::string> allocator_names_and_aliases();
// The same with those that only a CUDA device has.
std::vector<std::string> training_allocator_names();
// Throws UsageError if `device` has no such allocator.
void check_device_of(const std::string& allocator, const std::string& device);
// The name behind an alias; any other name as it is.
std::string canonical_allocator_name(const std::string& name);

std::vector<std::string> planner_names();

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
  std::optional<std::uint64_t> capacity_bytes;  // of its device; unset: as for all

  std::string name() const;  // "best-fit-pool@1GiB"
};
// Throws UsageError for an invalid size; does not check the allocator's name.
ComparedAllocator compared_allocator(const std::string& name);

// `memory` with the allocator, the policy and the capacity that `name` gives.
MemoryOptions with_policy(MemoryOptions memory, const std::string& name);

}  // namespace skyline
