#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/machine/process_memory.h"
#include "train/cli/figures.h"
#include "train/history/step_series.h"
#include "train/run/model_run.h"

namespace skyline {

// Memory figures of a run. Figures that its allocator does not have stay empty.
struct MemorySummary {
  std::string allocator;
  std::uint64_t resident_bytes = 0;  // rounded
  // The most bytes taken from the device at once in the whole run, resident memory included.
  std::uint64_t peak_reserved_bytes = 0;
  // The same since the switch: arena + pool + fallback. Empty without a switch.
  std::optional<std::uint64_t> peak_reserved_after_switch_bytes;
  std::uint64_t device_allocations_after_switch = 0;
  double calls_per_step = 0;  // requests and releases
  std::optional<double> allocate_ns_median;

  // The peak of the pool for the same requests, where steps differ; empty elsewhere.
  std::optional<std::uint64_t> pool_peak_reserved_bytes;

  // Only for `planned`, after its switch.
  std::optional<std::uint64_t> warm_up_peak_reserved_bytes;
  std::optional<std::uint64_t> blocks, lower_bound, peak;
  std::optional<double> gap, planning_seconds;
  std::optional<bool> proved_optimal;
  std::string planner;
  std::optional<SessionStatistics> session;

  // The peak that the allocator needs once it runs steadily: after the switch if there is one.
  std::uint64_t steady_peak_bytes() const {
    return peak_reserved_after_switch_bytes.value_or(peak_reserved_bytes);
  }
};

// Call right after a training step: calls and plan are those of the latest step.
// `device_allocations_before` is the allocator's count at the end of the warm-up, from which
// allocators without a plan are measured.
MemorySummary memory_summary(const ModelRun& run, const std::string& allocator,
                             std::uint64_t device_allocations_before);
// Replaces the plan's figures by those of `plan` with `blocks` blocks.
void set_plan(MemorySummary& facts, std::size_t blocks, const Plan& plan);
// Updates the totals: peaks, device allocations and session statistics. Call at any time.
void update_totals(MemorySummary& facts, const ModelRun& run,
                   std::uint64_t device_allocations_before);

// All but the allocator's name.
Rows<MemorySummary> rows(const MemorySummary*);

// The session's figures in the log of a run with varying steps, under the log's names.
Rows<SessionStatistics> rows(const SessionStatistics*);

// The numbers of new plans in each so many steps of a run with one line.
struct Replans {
  std::int64_t steps = 0;
  std::vector<std::uint64_t> counts;
};
Replans replans_of(const StepsChart& chart);
Rows<Replans> rows(const Replans*);

// "saves 3.1 MiB, 24.8 %", "takes 12 KiB more, 0.3 %" or "the same".
std::string saving_sentence(std::uint64_t baseline_bytes, std::uint64_t bytes);

// The resident set of this process beside the bytes that its devices reserve. In bytes.
struct ProcessSummary {
  ProcessMemory process;
  std::uint64_t reserved_bytes = 0, peak_reserved_bytes = 0;  // of all devices
  std::uint64_t device_resident_bytes = 0;  // of the reserved bytes, those in the resident set
  std::uint64_t host_batch_bytes = 0;       // of the heap: batches in hand and made ahead
  std::uint64_t history_bytes = 0;          // of the heap: losses and figures of the steps so far

  // A line of the tables; the peak of a part of the resident set is unknown.
  struct Part {
    std::string name;
    std::uint64_t bytes = 0;
  };
  // The parts of the resident set; their sum is process.resident_bytes. Every byte of a heap's
  // blocks counts as resident, as far as there are so many.
  std::vector<Part> parts() const;
};

// Measures the process, in which these runs take all device memory. Milliseconds.
ProcessSummary process_summary(std::span<const ModelRun* const> runs, std::uint64_t history_bytes);

Rows<ProcessSummary> rows(const ProcessSummary*);
// Returns a table: reserved bytes and resident set, now and at their peaks, and the set's parts.
std::string process_text(const ProcessSummary& summary);

}  // namespace skyline
