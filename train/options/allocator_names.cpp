#include "train/options/allocator_names.h"

#include <algorithm>
#include <stdexcept>

#include "memory/allocators/allocators.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/usage_error.h"

namespace skyline {

std::vector<std::string> allocator_names() {
  std::vector<std::string> names;
  for (const AllocatorEntry& entry : allocator_table()) names.emplace_back(entry.name);
  names.emplace_back(kPlannedAllocator);
  return names;
}

std::vector<std::string> allocator_names_and_aliases() {
  std::vector<std::string> names = allocator_names();
  for (const AllocatorEntry& entry : allocator_table()) {
    if (!entry.alias.empty()) names.emplace_back(entry.alias);
  }
  return names;
}

std::vector<std::string> training_allocator_names() {
  std::vector<std::string> names = allocator_names_and_aliases();
  for (const AllocatorEntry& entry : cuda_allocator_table()) names.emplace_back(entry.name);
  return names;
}

void check_device_of(const std::string& allocator, const std::string& device) {
  for (const AllocatorEntry& entry : cuda_allocator_table()) {
    if (entry.name != allocator || device == "cuda") continue;
    throw UsageError("allocator '" + allocator +
                     "' is a pool of the CUDA driver: give --device cuda");
  }
}

std::string canonical_allocator_name(const std::string& name) {
  for (const AllocatorEntry& entry : allocator_table()) {
    if (!entry.alias.empty() && entry.alias == name) return std::string(entry.name);
  }
  return name;
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const PlannerEntry& entry : all_planners()) names.emplace_back(entry.name);
  return names;
}

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names = {"grow", "per-shape", "upper-bound"};
  return names;
}

ShapePolicy policy_of(const std::string& name) {
  const auto found = std::ranges::find(policy_names(), name);
  if (found == policy_names().end()) throw std::invalid_argument("unknown policy '" + name + "'");
  return static_cast<ShapePolicy>(found - policy_names().begin());
}

std::string policy_name(ShapePolicy policy) {
  return policy_names()[static_cast<std::size_t>(policy)];
}

std::vector<std::string> planned_names() {
  std::vector<std::string> names;
  for (const std::string& policy : policy_names()) {
    names.push_back(std::string(kPlannedAllocator) + "-" + policy);
  }
  return names;
}

std::string ComparedAllocator::name() const {
  return capacity_bytes ? allocator + "@" + format_bytes_exact(*capacity_bytes) : allocator;
}

ComparedAllocator compared_allocator(const std::string& name) {
  const auto at = name.find('@');
  ComparedAllocator compared{.allocator = canonical_allocator_name(name.substr(0, at)),
                             .capacity_bytes = {}};
  if (at != std::string::npos) compared.capacity_bytes = parse_bytes(name.substr(at + 1));
  return compared;
}

MemoryOptions with_policy(MemoryOptions memory, const std::string& name) {
  const ComparedAllocator compared = compared_allocator(name);
  if (compared.capacity_bytes) memory.capacity_bytes = compared.capacity_bytes;
  memory.allocator = compared.allocator;
  const std::string prefix = std::string(kPlannedAllocator) + "-";
  if (!memory.allocator.starts_with(prefix)) return memory;
  memory.policy = policy_of(memory.allocator.substr(prefix.size()));
  memory.allocator = kPlannedAllocator;
  return memory;
}

}  // namespace skyline
