#include "train/labs/lab.h"

#include <fmt/format.h>

#include <exception>
#include <string>

#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "memory/validator.h"

namespace skyline {
namespace {

constexpr std::uint64_t kTraces = 60;
constexpr std::uint64_t kLargestBytes = 1000;

// Steps of a training and blocks without order, in turns.
Trace hidden_trace(std::uint64_t seed) {
  if (seed % 2 == 0) return training_trace(seed, 20, kLargestBytes);
  return short_lived_trace(seed, 30, 40, kLargestBytes);
}

// Returns what is wrong with the student's plan, or "". Sets `peak`.
std::string fault_of(const PlanWriter& writer, const Trace& trace, std::uint64_t& peak) {
  Plan plan{.alignment = 1};
  try {
    plan.offsets = writer(trace);
  } catch (const std::exception& error) {
    return fmt::format("the planner threw: {}", error.what());
  }
  if (plan.offsets.size() != trace.size()) {
    return fmt::format("{} offsets for {} blocks", plan.offsets.size(), trace.size());
  }
  for (std::size_t k = 0; k < trace.size(); ++k) {
    peak = std::max(peak, plan.offsets[k] + trace.blocks[k].bytes);
  }
  plan.peak = peak;
  plan.lower_bound = lower_bound_bytes(trace, plan.alignment);
  return validate(trace, plan).reason;
}

}  // namespace

LabScore score_planner(const PlanWriter& writer, std::uint64_t seed) {
  std::string fault;
  double excess = 0;
  for (std::uint64_t k = 0; k < kTraces && fault.empty(); ++k) {
    const Trace trace = hidden_trace(seed * kTraces + k);
    std::uint64_t peak = 0;
    fault = fault_of(writer, trace, peak);
    if (!fault.empty()) fault = fmt::format("trace {}: {}", k, fault);
    const std::uint64_t best = plan(trace, kDefaultPlanner, {.alignment = 1}).peak;
    excess += (static_cast<double>(peak) / static_cast<double>(best) - 1) / kTraces;
  }
  const bool valid = fault.empty();
  const std::string seen = valid ? fmt::format("{:.1f} %", 100 * excess) : "";
  const auto within = [&](double share) { return valid && excess <= share; };
  return {.marks = {mark(fmt::format("{} plans are valid", kTraces), 40, valid, fault),
                    mark("at most 25 % above the best, on average", 20, within(0.25), seen),
                    mark("at most 5 %", 20, within(0.05), seen),
                    mark("at most 1 %", 20, within(0.01), seen)}};
}

}  // namespace skyline
