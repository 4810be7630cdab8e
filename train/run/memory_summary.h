#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/run/model_run.h"

namespace skyline {

// What a run's memory came to. Figures that its allocator does not have stay empty.
struct MemorySummary {
  std::string allocator;
  std::uint64_t resident_bytes = 0;  // rounded
  // The most bytes taken from the device at once, resident memory included; for `planned` since
  // the switch: arena + pool + fallback.
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t device_allocations_after_switch = 0;
  double calls_per_step = 0;  // requests and releases
  std::optional<double> allocate_ns_median;

  // Of `planned`, once it has switched.
  std::optional<std::uint64_t> warm_up_peak_reserved_bytes;
  std::optional<std::uint64_t> blocks, lower_bound, peak;
  std::optional<double> gap, planning_seconds;
  std::optional<bool> proved_optimal;
  std::string planner;
  std::optional<SessionStatistics> session;
};

// Right after a training step: calls and plan are those of the step begun last.
// `device_allocations_before` is the allocator's count when the warm-up had ended; allocators that
// do not plan are measured from there.
MemorySummary memory_summary(const ModelRun& run, const std::string& allocator,
                             std::uint64_t device_allocations_before);
// The figures of another plan, of so many blocks, in place of those.
void set_plan(MemorySummary& facts, std::size_t blocks, const Plan& plan);
// Brings the totals up to date, whatever steps came since: peaks, device allocations, the
// session's.
void update_totals(MemorySummary& facts, const ModelRun& run,
                   std::uint64_t device_allocations_before);

// Bytes, with null for what is unknown.
nlohmann::ordered_json to_json(const MemorySummary& facts);

// The figures that the log of a run whose steps differ tells of its session, under these names.
nlohmann::ordered_json to_json(const SessionStatistics& statistics);

// How many of these positions lie in each hundred of `count`, in ascending order.
std::vector<std::uint64_t> counts_per_hundred(const std::vector<std::uint64_t>& positions,
                                              std::size_t count);

// "saves 3.1 MiB, 24.8 %", "takes 12 KiB more, 0.3 %" or "the same".
std::string saving_sentence(std::uint64_t baseline_bytes, std::uint64_t bytes);

}  // namespace skyline
