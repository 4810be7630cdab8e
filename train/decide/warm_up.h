#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "train/cli/console.h"
#include "train/options/memory_options.h"
#include "train/run/dry_run.h"

namespace skyline {

// Arenas of the device are multiples of it.
std::size_t commit_bytes(const MemoryOptions& memory);

// Returns what an allocator reserves for a run whose session adopts plans for these steps.
std::uint64_t reserved_bytes(const MemoryOptions& memory, const DryRunFacts& facts,
                             std::span<const Trace> steps,
                             std::string_view allocator = kPlannedAllocator);

// What plans of a run must hold.
struct PlanNeeds {
  DryRunFacts longest;            // the step with the most live bytes
  std::vector<Trace> steps = {};  // that policy upper-bound adopts one plan for
  Trace beside = {};              // of a plan that the arena may hold during a warm-up
};

// A warm-up takes more than the plan that follows it. Where a capacity holds only the plan, returns
// `memory` with policy upper-bound, so that it is made before the first step, and says so. Depends
// on nothing that the processes of a run do not share. Throws OutOfMemory if neither fits.
MemoryOptions planned_in_time(MemoryOptions memory, const std::function<PlanNeeds()>& needs_of_run,
                              Console& console);

}  // namespace skyline
