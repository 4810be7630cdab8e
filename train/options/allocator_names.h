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
// The same, plus the allocators that only a CUDA device has.
std::vector<std::string> training_allocator_names();
// Throws UsageError if `device` has no such allocator.
void check_device_of(const std::string& allocator, const std::string& device);
// Resolves an alias; returns any other name unchanged.
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
  std::optional<std::uint64_t> capacity_bytes;  // of its device; unset: the same for all

  std::string name() const;  // "best-fit-pool@1GiB"
};
// Throws UsageError for an invalid size; does not check the allocator's name.
ComparedAllocator compared_allocator(const std::string& name);

// Returns `memory` with the allocator, policy and capacity that `name` gives.
MemoryOptions with_policy(MemoryOptions memory, const std::string& name);

}  // namespace skyline
