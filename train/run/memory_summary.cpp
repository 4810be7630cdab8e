#include "train/run/memory_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

// A figure of the session; other allocators have no such key.
template <typename Figure>
auto if_session(Figure SessionStatistics::*figure) {
  return if_known(of(&MemorySummary::session, figure));
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
  facts.pool_peak_reserved_bytes = run.memory.shadow_pool_peak_bytes();
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

Rows<MemorySummary> rows(const MemorySummary*) {
  return {
      {"resident_bytes", kBytes, "that live across steps", &MemorySummary::resident_bytes},
      {"peak_reserved", kBytes, "the most taken from the device, resident bytes included",
       &MemorySummary::peak_reserved_bytes},
      {"peak_reserved_after_switch", kBytes, "the same once the plan served",
       &MemorySummary::peak_reserved_after_switch_bytes},
      {"pool_peak_reserved", kBytes, "by best-fit-pool for the same requests, where steps differ",
       &MemorySummary::pool_peak_reserved_bytes},
      {"warm_up_peak_reserved", kBytes, "of the pool, before",
       &MemorySummary::warm_up_peak_reserved_bytes},
      {"device_allocations_after_switch", kCount, "calls of the device since then, or the warm-up",
       &MemorySummary::device_allocations_after_switch},
      {"calls_per_step", kNumber, "requests and frees of a step", &MemorySummary::calls_per_step},
      {"blocks", kCount, "requests of the step", &MemorySummary::blocks},
      {"lower_bound", kBytes, "no plan needs less", &MemorySummary::lower_bound},
      {"peak", kBytes, "the highest byte of the plan", &MemorySummary::peak},
      {"gap", kShare, "(peak − lower bound) / lower bound", &MemorySummary::gap},
      {"proved_optimal", "the peak is a proved bound", &MemorySummary::proved_optimal},
      {"planning_seconds", kSeconds, "of planning", &MemorySummary::planning_seconds},
      {"planner", "who planned",
       [](auto& summary) {
         return summary.planner.empty() ? std::nullopt : std::optional(summary.planner);
       }},
      {"", "of planned", &MemorySummary::session},
      {"deviating_steps", kCount, "steps that left their plan",
       if_session(&SessionStatistics::deviating_steps)},
      {"adopted_plans", kCount, "plans made before their step",
       if_session(&SessionStatistics::adopted_plans)},
      {"stalled_seconds", kSeconds, "that steps waited for plans",
       if_session(&SessionStatistics::stalled_seconds)},
      {"fallback_requests", kCount, "that the fallback pool served",
       if_session(&SessionStatistics::fallback_requests)},
      {"interrupted_requests", kCount, "that steps made while they were interrupted",
       if_session(&SessionStatistics::interrupted_requests)},
      {"fallback_peak_reserved", kBytes, "by the fallback pool, at most",
       if_session(&SessionStatistics::peak_fallback_reserved_bytes)}};
}

Rows<SessionStatistics> rows(const SessionStatistics*) {
  return {
      {"planned_steps", kCount, "steps that had a plan", &SessionStatistics::planned_steps},
      {"deviations", kCount, "requests that left the plan", &SessionStatistics::deviations},
      {"replans", kCount, "plans that were made anew", &SessionStatistics::replans},
      {"planning_seconds", kSeconds, "of planning", &SessionStatistics::planning_seconds},
      {"validation_seconds", kSeconds, "of the validator", &SessionStatistics::validation_seconds},
      {"fallback_bytes", kBytes, "outside of the plan, at most",
       &SessionStatistics::peak_fallback_bytes}};
}

Replans replans_of(const StepsChart& chart) {
  const StepSeries& replans = chart.lines.front().replans_by_hundreds;
  return {static_cast<std::int64_t>(replans.steps_per_point()), sums_of(replans)};
}

Rows<Replans> rows(const Replans*) {
  return {{"steps", kCount, "of each number", &Replans::steps},
          {"counts", "re-plans in so many steps", &Replans::counts}};
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

ProcessSummary process_summary(std::span<const ModelRun* const> runs, std::uint64_t history_bytes) {
  ProcessSummary summary{.process = process_memory(), .history_bytes = history_bytes};
  for (const ModelRun* run : runs) {
    const Device& device = run->memory.device();
    summary.reserved_bytes += device.statistics().reserved_bytes;
    summary.peak_reserved_bytes += device.statistics().peak_reserved_bytes;
    summary.device_resident_bytes += device.resident_bytes();
    summary.host_batch_bytes += run->host_bytes();
  }
  return summary;
}

// Each part takes its bytes from what the parts before have left.
std::vector<ProcessSummary::Part> ProcessSummary::parts() const {
  std::uint64_t left = process.anonymous_bytes;
  const auto taken = [](std::uint64_t bytes, std::uint64_t& from) {
    const std::uint64_t part = std::min(bytes, from);
    from -= part;
    return part;
  };
  const std::uint64_t device = taken(device_resident_bytes, left);
  std::uint64_t heap = taken(process.heap_used_bytes, left);
  const std::uint64_t batches = taken(host_batch_bytes, heap);
  const std::uint64_t histories = taken(history_bytes, heap);
  const std::uint64_t slack = taken(process.heap_free_bytes, left);
  return {{"device memory", device},
          {"program and libraries", process.program_bytes},
          {"generated kernels", process.generated_bytes},
          {"host batches", batches},
          {"histories", histories},
          {"other heap", heap},
          {"heap slack", slack},
          {"other", left}};
}

Rows<ProcessSummary> rows(const ProcessSummary*) {
  return {
      {"reserved", kBytes, "by the devices", &ProcessSummary::reserved_bytes},
      {"peak_reserved", kBytes, "by the devices, at most", &ProcessSummary::peak_reserved_bytes},
      {"resident_set", kBytes, "of the process",
       [](auto& summary) { return summary.process.resident_bytes; }},
      {"peak_resident_set", kBytes, "of the process, at most",
       [](auto& summary) { return summary.process.peak_resident_bytes; }},
      {"resident_set_of", "bytes of each part of the resident set", [](auto& summary) {
         std::vector<std::pair<std::string, std::uint64_t>> parts;
         for (auto& [name, bytes] : summary.parts()) {
           std::string key = name;
           std::ranges::replace(key, ' ', '_');
           parts.emplace_back(std::move(key), bytes);
         }
         return parts;
       }}};
}

std::string process_text(const ProcessSummary& summary) {
  Table table("<process | now | at its peak");
  table.add_row({"reserved by the device", format_bytes(summary.reserved_bytes),
                 format_bytes(summary.peak_reserved_bytes)});
  table.add_row({"resident set", format_bytes(summary.process.resident_bytes),
                 format_bytes(summary.process.peak_resident_bytes)});
  for (const auto& [name, bytes] : summary.parts()) {
    table.add_row({"  " + name, format_bytes(bytes), ""});
  }
  return table.str();
}

}  // namespace skyline
