#include "train/options/memory_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "memory/machine/machine_memory.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/option_list.h"
#include "train/cli/usage_error.h"

namespace skyline {

std::vector<std::string> allocator_names() {
  std::vector<std::string> names = names_of(allocator_table());
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

const std::vector<std::string>& region_planner_names() {
  static const std::vector<std::string> names = {"box", "box-fixed", "colouring"};
  return names;
}

std::vector<std::string> replayed_names() {
  std::vector<std::string> names = allocator_names_and_aliases();
  names.insert(names.end(), region_planner_names().begin(), region_planner_names().end());
  return names;
}

bool is_planned(const std::string& name) {
  return name == kPlannedAllocator || std::ranges::count(region_planner_names(), name) > 0;
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
  if (is_planned(memory.allocator)) {
    if (memory.allocator != kPlannedAllocator) memory.planner = memory.allocator;
    memory.allocator = kPlannedAllocator;
    return memory;
  }
  const std::string prefix = std::string(kPlannedAllocator) + "-";
  if (!memory.allocator.starts_with(prefix)) return memory;
  memory.policy = policy_of(memory.allocator.substr(prefix.size()));
  memory.allocator = kPlannedAllocator;
  return memory;
}

namespace {

void check_max_split(const CachingOptions& options) {
  if (valid_max_split(*options.max_split_bytes)) return;
  throw UsageError(fmt::format("{} is out of range: it must be a whole number of MiB, at least {}",
                               format_bytes_exact(*options.max_split_bytes),
                               format_bytes_exact(CachingOptions::kLeastMaxSplitBytes)));
}

void check_page(std::uint64_t bytes) {
  if (valid_page(bytes)) return;
  throw UsageError(fmt::format("{} is out of range: it must be a multiple of {}, up to {}",
                               format_bytes_exact(bytes), format_bytes_exact(kAlignmentBytes),
                               format_bytes_exact(StitchedOptions::kLargestPageBytes)));
}

OptionValue divisions(RoundupDivisions& value) {
  return {.type = "N",
          .initial = value.text(),
          .parse =
              [&value](const std::string& text) {
                try {
                  value = RoundupDivisions::read(text);
                } catch (const std::invalid_argument& error) {
                  throw UsageError(error.what());
                }
              },
          .write =
              [&value](nlohmann::ordered_json& json) {
                json = value.by_size.front();
                if (value != RoundupDivisions(value.by_size.front())) json = value.text();
              },
          .read =
              [&value](const nlohmann::ordered_json& json) {
                value = json.is_string() ? RoundupDivisions::read(json.get<std::string>())
                                         : RoundupDivisions(json.get<std::uint64_t>());
              }};
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
  list.add("--max-split-size",
           checked(bytes(caching.max_split_bytes), [&caching] { check_max_split(caching); }),
           "caching: never split segments for requests of this size or more",
           kNeutral | kCachingOnly);
  list.add("--garbage-collection-threshold", number(caching.garbage_collection_threshold, 0, 1),
           "caching: above this fraction of the capacity, release segments that have long been "
           "unused (0: never)",
           kNeutral | kCachingOnly)
      .needs({"--capacity", "--device cuda"},
             "--garbage-collection-threshold is a part of the capacity: give --capacity");
  list.add("--expandable-segments", flag(caching.expandable_segments),
           "caching: one growing segment per pool", kNeutral | kCachingOnly);
  list.add(
      "--roundup-power2-divisions", divisions(caching.roundup_power2_divisions),
      "caching: round requests up to one of N steps between powers of two; or by sizes in MiB, "
      "as [256:1,512:2,>:8]",
      kNeutral | kCachingOnly);
  list.add("--bfc-limit", bytes(options.bfc.limit_bytes),
           "bfc: most bytes to reserve (default: the device's capacity)", kNeutral | kBfcOnly);
  list.add("--no-bfc-growth", negated_flag(options.bfc.growth),
           "bfc: reserve the whole limit at once", kNeutral | kBfcOnly);
  std::uint64_t& page_bytes = options.stitched.page_bytes;
  list.add("--page-size", checked(bytes(page_bytes), [&page_bytes] { check_page(page_bytes); }),
           "stitched: pages behind ranges of addresses; blocks below half of it share pages",
           kNeutral | kMayBeAbsent | kStitchedOnly);
}

void check_given_for(const OptionList& list, const std::vector<std::string>& allocators) {
  static constexpr std::pair<unsigned, std::string_view> kOwners[] = {
      {kCachingOnly, "caching"},
      {kBfcOnly, "bfc"},
      {kStitchedOnly, "stitched"},
      {kPlannedOnly, kPlannedAllocator}};
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
  list.add("--planner", choice(planner, names_of(all_planners()), "planner"), "Packing algorithm",
           kNeutral);
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
           "Steps on the pool before the switch to the plan; the last one is recorded (of memory: "
           "the learning rate has --lr-warmup-epochs)",
           kNeutral);
}

}  // namespace skyline
