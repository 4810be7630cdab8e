#include "train/options/memory_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>

#include "memory/machine/machine_memory.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/option_list.h"
#include "train/options/allocator_names.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMostDivisions = 1 << 20;

void check_max_split(const CachingOptions& options) {
  if (valid_max_split(*options.max_split_bytes)) return;
  throw UsageError(fmt::format("{} is out of range: it must be a whole number of MiB, at least {}",
                               format_bytes_exact(*options.max_split_bytes),
                               format_bytes_exact(CachingOptions::kLeastMaxSplitBytes)));
}

void check_divisions(const CachingOptions& options) {
  const std::uint64_t divisions = options.roundup_power2_divisions;
  if (std::has_single_bit(divisions) && divisions <= kMostDivisions) return;
  throw UsageError(fmt::format("{} is out of range: it must be a power of two from 1 to {}",
                               static_cast<std::int64_t>(divisions), kMostDivisions));
}

}  // namespace

void check_capacity(std::string_view option, const std::string& device,
                    const std::optional<std::uint64_t>& capacity_bytes) {
  if (device != "cpu" || !capacity_bytes) return;
  const MachineMemory machine = machine_memory();
  const std::uint64_t most_bytes = machine.limit ? machine.limit->free_bytes() : machine.bytes;
  if (*capacity_bytes <= most_bytes) return;
  throw UsageError(
      fmt::format("{} {} is more than there is: {} ({})", option, format_bytes(*capacity_bytes),
                  format_bytes(most_bytes),
                  machine.limit ? "free of " + machine.limit->name : "physical memory"));
}

void add_allocator_options(OptionList& list, AllocatorOptions& options) {
  CachingOptions& caching = options.caching;
  using Limits = std::numeric_limits<std::int64_t>;
  list.add("--max-split-size",
           checked(bytes(caching.max_split_bytes), [&caching] { check_max_split(caching); }),
           "caching: never split segments for requests of this size or more",
           kNeutral | kCachingOnly);
  list.add("--garbage-collection-threshold", number(caching.garbage_collection_threshold, 0, 1),
           "caching: above this fraction of the capacity, release segments that have long been "
           "unused (0: never)",
           kNeutral | kCachingOnly);
  list.add("--expandable-segments", flag(caching.expandable_segments),
           "caching: one growing segment per pool", kNeutral | kCachingOnly);
  list.add("--roundup-power2-divisions",
           checked(integer(caching.roundup_power2_divisions, Limits::min(), Limits::max()),
                   [&caching] { check_divisions(caching); }),
           "caching: round requests up to one of N steps between powers of two",
           kNeutral | kCachingOnly);
  list.add("--bfc-limit", bytes(options.bfc.limit_bytes),
           "bfc: most bytes to reserve (default: the device's capacity)", kNeutral | kBfcOnly);
  list.add("--no-bfc-growth", negated_flag(options.bfc.growth),
           "bfc: reserve the whole limit at once", kNeutral | kBfcOnly);
}

void check_given_for(const OptionList& list, const std::vector<std::string>& allocators) {
  static constexpr std::pair<unsigned, std::string_view> kOwners[] = {
      {kCachingOnly, "caching"}, {kBfcOnly, "bfc"}, {kPlannedOnly, kPlannedAllocator}};
  for (const Option& option : list.options()) {
    for (const auto& [trait, owner] : kOwners) {
      if (!option.given || (option.traits & trait) == 0) continue;
      // Names of comparisons go on: planned-grow, caching@1GiB.
      const auto is_owner = [&](const std::string& name) { return name.starts_with(owner); };
      if (std::ranges::any_of(allocators, is_owner)) continue;
      throw UsageError(fmt::format("{} is for the allocator {}, got {}", option.name(), owner,
                                   fmt::join(allocators, ", ")));
    }
  }
}

void write_allocator_options(AllocatorOptions options, nlohmann::ordered_json& json) {
  OptionList list;
  add_allocator_options(list, options);
  list.write(json);
}

void add_planner_option(OptionList& list, std::string& planner) {
  list.add("--planner", choice(planner, planner_names(), "planner"), "Packing algorithm", kNeutral);
}

void add_memory_options(OptionList& list, MemoryOptions& options) {
  list.add("--capacity", bytes(options.capacity_bytes), "Device memory limit (default: all)",
           kNeutral);
  add_allocator_options(list, options.allocator_options);
  add_planner_option(list, options.planner);
  list.add(
      "--policy",
      choice([&options] { return options.policy ? policy_name(*options.policy) : ""; },
             [&options](const std::string& name) {
               options.policy.reset();
               if (!name.empty()) options.policy = policy_of(name);
             },
             policy_names(), "policy"),
      "How to plan when batch shapes vary (default: per-shape for images, upper-bound for seq2seq)",
      kNeutral | kPlannedOnly);
  list.add("--warmup-steps", integer(options.warmup_steps, 1, 1000),
           "Steps on the pool before the switch to the plan; the last one is recorded", kNeutral);
}

}  // namespace skyline
