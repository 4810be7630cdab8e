#include "train/run/memory_summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

MemorySummary memory_summary(const ModelRun& run, const std::string& allocator,
                             std::uint64_t device_allocations_before) {
  MemorySummary facts;
  facts.allocator = allocator;
  facts.resident_bytes = run.resident_bytes();
  const StepCalls& calls = run.memory.calls().last_step();
  facts.calls_per_step = static_cast<double>(calls.requests + calls.releases);
  facts.allocate_ns_median = median_ns(calls.acquire_ns);
  const Session* session = run.memory.session();
  if (session != nullptr && session->state() == Session::State::kPlanned) {
    set_plan(facts, session->trace().size(), session->plan());
  }
  update_totals(facts, run, device_allocations_before);
  return facts;
}

void set_plan(MemorySummary& facts, std::size_t blocks, const Plan& plan) {
  facts.blocks = blocks;
  facts.lower_bound = plan.lower_bound;
  facts.peak = plan.peak;
  facts.gap = plan.gap();
  facts.proved_optimal = plan.proved_optimal;
  facts.planner = plan.planner;
}

void update_totals(MemorySummary& facts, const ModelRun& run,
                   std::uint64_t device_allocations_before) {
  const Statistics statistics = run.memory.statistics();
  facts.peak_reserved_bytes = statistics.peak_reserved_bytes;
  facts.device_allocations_after_switch = statistics.device_allocations - device_allocations_before;
  const Session* session = run.memory.session();
  if (session == nullptr) return;
  facts.session = session->session_statistics();
  if (facts.session->planned_steps == 0) return;
  if (facts.session->steps > facts.session->planned_steps) {
    facts.warm_up_peak_reserved_bytes = session->pool_statistics().peak_reserved_bytes;
  }
  facts.planning_seconds = facts.session->planning_seconds;
  facts.peak_reserved_after_switch_bytes = facts.session->peak_reserved_bytes_since_switch;
  facts.device_allocations_after_switch = facts.session->device_allocations_since_switch;
}

nlohmann::ordered_json to_json(const MemorySummary& facts) {
  nlohmann::ordered_json json = {
      {"allocator", facts.allocator},
      {"resident_bytes", facts.resident_bytes},
      {"peak_reserved", facts.peak_reserved_bytes},
      {"peak_reserved_after_switch", or_null(facts.peak_reserved_after_switch_bytes)},
      {"warm_up_peak_reserved", or_null(facts.warm_up_peak_reserved_bytes)},
      {"device_allocations_after_switch", facts.device_allocations_after_switch},
      {"calls_per_step", facts.calls_per_step},
      {"blocks", or_null(facts.blocks)},
      {"lower_bound", or_null(facts.lower_bound)},
      {"peak", or_null(facts.peak)},
      {"gap", or_null(facts.gap)},
      {"proved_optimal", or_null(facts.proved_optimal)},
      {"planning_seconds", or_null(facts.planning_seconds)},
  };
  json["planner"] = facts.planner.empty() ? nullptr : nlohmann::ordered_json(facts.planner);
  if (facts.session) {
    json.update(to_json(*facts.session));
    json["deviating_steps"] = facts.session->deviating_steps;
    json["adopted_plans"] = facts.session->adopted_plans;
    json["stalled_seconds"] = facts.session->stalled_seconds;
    json["fallback_requests"] = facts.session->fallback_requests;
    json["fallback_peak_reserved"] = facts.session->peak_fallback_reserved_bytes;
  }
  return json;
}

nlohmann::ordered_json to_json(const SessionStatistics& statistics) {
  return {{"planned_steps", statistics.planned_steps},
          {"deviations", statistics.deviations},
          {"replans", statistics.replans},
          {"planning_seconds", statistics.planning_seconds},
          {"validation_seconds", statistics.validation_seconds},
          {"fallback_bytes", statistics.peak_fallback_bytes}};
}

nlohmann::ordered_json replans_json(const StepsChart& chart) {
  const StepSeries& replans = chart.lines.front().replans_by_hundreds;
  return {{"steps", replans.steps_per_point()}, {"counts", sums_of(replans)}};
}

std::string saving_sentence(std::uint64_t baseline_bytes, std::uint64_t bytes) {
  if (bytes == baseline_bytes || baseline_bytes == 0) return "the same";
  const bool saves = bytes < baseline_bytes;
  const std::uint64_t difference = saves ? baseline_bytes - bytes : bytes - baseline_bytes;
  const double percent =
      100.0 * static_cast<double>(difference) / static_cast<double>(baseline_bytes);
  return fmt::format("{} {}{}, {:.1f} %", saves ? "saves" : "takes", format_bytes(difference),
                     saves ? "" : " more", percent);
}

}  // namespace skyline
