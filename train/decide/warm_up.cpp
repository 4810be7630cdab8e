#include "train/decide/warm_up.h"

#include <fmt/format.h>

#include "memory/device/cuda_device.h"
#include "memory/device/out_of_memory.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"

namespace skyline {

std::size_t commit_bytes(const MemoryOptions& memory) {
  return memory.device == "cpu" ? kCommitBytes : kCudaCommitBytes;
}

std::uint64_t reserved_bytes(const MemoryOptions& memory, const DryRunFacts& facts,
                             std::span<const Trace> steps, std::string_view allocator) {
  return replay_run(facts.run, steps,
                    {.allocator = std::string(allocator),
                     .planner = memory.planner,
                     .planner_table = all_planners(),
                     .commit_bytes = commit_bytes(memory)})
      .peak_reserved_bytes;
}

MemoryOptions planned_in_time(MemoryOptions memory, const std::function<PlanNeeds()>& needs_of_run,
                              Console& console) {
  if (memory.allocator != kPlannedAllocator || !memory.capacity_bytes ||
      memory.policy == ShapePolicy::kUpperBound) {
    return memory;
  }
  const PlanNeeds needs = needs_of_run();
  const Plan beside = plan(needs.beside, memory.planner, {}, all_planners());
  const std::uint64_t warm_up = reserved_bytes(memory, needs.longest, {}, kWarmUpAllocator) +
                                align_up(beside.peak, commit_bytes(memory));
  if (warm_up <= *memory.capacity_bytes) return memory;
  const std::uint64_t planned = reserved_bytes(memory, needs.longest, needs.steps);
  if (planned > *memory.capacity_bytes) {
    throw OutOfMemory(
        {.where = std::string(kPlannedAllocator),
         .requested_bytes = planned,
         .capacity_bytes = *memory.capacity_bytes,
         .request = "the plan of a step and what stays",
         .reason = fmt::format("by a dry run, neither the plan fits nor a warm-up in the pool, "
                               "which may take {} bytes",
                               warm_up)});
  }
  console.say(fmt::format(
      "a warm-up in the pool may run out of memory: it takes up to {}, the capacity is {}; planned "
      "from a dry run instead, which takes {}",
      format_bytes(warm_up), format_bytes(*memory.capacity_bytes), format_bytes(planned)));
  memory.policy = ShapePolicy::kUpperBound;
  return memory;
}

}  // namespace skyline
