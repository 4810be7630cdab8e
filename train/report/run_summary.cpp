#include "train/report/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/graph_file.h"
#include "memory/replay/trace_replay.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"
#include "train/report/plan_map.h"

namespace skyline {
namespace {

constexpr int kMapRows = 12, kMapColumns = 96, kMapMargin = 16;  // the margin is for the scale
constexpr std::string_view kNetworkWise = "network-wise", kPool = "best-fit-pool";

// Returns the peak that an allocator reserves for the recorded step, plus resident memory.
std::uint64_t replayed_bytes(const RunSummary& summary, std::string_view allocator) {
  return summary.memory.resident_bytes +
         replay_trace(summary.trace, allocator).statistics.peak_reserved_bytes;
}

// Returns the peak of the pool for the run's steps. The warm-up's peak tells it only if all steps
// are alike.
std::uint64_t pool_bytes(const RunSummary& summary) {
  if (summary.memory.pool_peak_reserved_bytes) return *summary.memory.pool_peak_reserved_bytes;
  const auto& warm_up = summary.memory.warm_up_peak_reserved_bytes;
  return warm_up ? *warm_up : replayed_bytes(summary, kPool);
}

// How far the step's part of the bytes is above the lower bound.
std::optional<double> gap_of(const RunSummary& summary, std::uint64_t bytes) {
  const auto bound = static_cast<double>(summary.plan.lower_bound);
  if (bound == 0) return {};
  return static_cast<double>(bytes - summary.memory.resident_bytes) / bound - 1;
}

// The run's allocator, beside those that every run is compared with. All bytes include resident
// memory.
std::vector<ComparisonRow> allocator_rows(const RunSummary& summary) {
  constexpr std::string_view kReplayed = "replayed";
  const MemorySummary& memory = summary.memory;
  std::vector<ComparisonRow> rows;
  const auto add = [&](std::string_view name, std::string_view how, std::uint64_t bytes) {
    rows.push_back({.allocator = std::string(name),
                    .how = std::string(how),
                    .peak_reserved_bytes = bytes,
                    .resident_bytes = memory.resident_bytes,
                    .gap = gap_of(summary, bytes)});
  };
  if (memory.allocator != kNetworkWise) {
    add(kNetworkWise, kReplayed, replayed_bytes(summary, kNetworkWise));
  }
  if (memory.allocator != kPool) {
    add(kPool,
        memory.pool_peak_reserved_bytes      ? "the same requests"
        : memory.warm_up_peak_reserved_bytes ? "warm-up"
                                             : kReplayed,
        pool_bytes(summary));
  }
  add(memory.allocator, "this run", memory.peak_reserved_bytes);
  ComparisonRow& run = rows.back();
  run.peak_reserved_after_switch_bytes = memory.peak_reserved_after_switch_bytes;
  run.gap = gap_of(summary, memory.steady_peak_bytes());
  run.device_allocations_after_switch = memory.device_allocations_after_switch;
  run.calls_per_step = memory.calls_per_step;
  run.allocate_nanoseconds = memory.allocate_ns_median;
  run.step_seconds = summary.step_seconds;
  return rows;
}

// Describes how the session planned, if steps differ or a step left its plan.
std::string session_text(const SessionStatistics& session, const StepsChart& steps) {
  if (steps.lines.empty() && session.deviations + session.interrupted_requests == 0) return {};
  std::string text = fmt::format(
      "{} of {} steps had a plan, {} left it in {} requests;\n"
      "{} re-plans, {:.1f} ms of planning, {:.1f} ms of waiting for plans;\n"
      "at most {} outside of the plan\n",
      session.planned_steps, session.steps, session.deviating_steps, session.deviations,
      session.replans, 1e3 * session.planning_seconds, 1e3 * session.stalled_seconds,
      format_bytes(session.peak_fallback_bytes));
  if (session.interrupted_requests > 0) {
    text += fmt::format("{} requests outside of the plan by interruption\n",
                        session.interrupted_requests);
  }
  if (session.replans == 0 || steps.lines.empty()) return text;
  const StepSeries& replans = steps.lines.front().replans_by_hundreds;
  return text + fmt::format("re-plans in each {} steps: {}\n", replans.steps_per_point(),
                            fmt::join(sums_of(replans), " "));
}

// Says why a run takes more than the pool, if it does.
std::string cause_text(const RunSummary& summary) {
  const MemorySummary& memory = summary.memory;
  const std::uint64_t taken = memory.steady_peak_bytes(), pool = pool_bytes(summary);
  if (!memory.session || taken <= pool) return {};
  const std::uint64_t outside = memory.session->deviations + memory.session->interrupted_requests;
  const std::uint64_t planned = memory.resident_bytes + summary.plan.peak;
  if (outside > 0 && taken > planned) {
    return fmt::format("the cause: {} requests outside of the plan take {} beside its blocks\n",
                       format_count(static_cast<std::int64_t>(outside)),
                       format_bytes(taken - planned));
  }
  if (memory.resident_bytes + summary.plan.lower_bound <= pool) {
    return fmt::format("the cause: {} plans above the lower bound\n", summary.plan.planner);
  }
  return "the cause: the plan holds each request at its largest of all steps\n";
}

template <typename T>
std::string render(const T& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

}  // namespace

std::string summary_text(const RunSummary& summary, int width) {
  const MemorySummary& memory = summary.memory;
  const std::vector<ComparisonRow> rows = allocator_rows(summary);
  Table table("<allocator | reserved peak | after the switch | gap | <how");
  const auto size = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? format_bytes(*bytes) : std::string();
  };
  for (const ComparisonRow& row : rows) {
    table.add_row({row.allocator, size(row.peak_reserved_bytes),
                   size(row.peak_reserved_after_switch_bytes), row.gap ? percent(*row.gap) : "",
                   row.how});
  }
  std::string text = table.str();
  text += fmt::format(
      "{} of each is resident; a step makes {} requests that need {}\n"
      "at least; {} plans them in {}, gap {}{}\n",
      format_bytes(memory.resident_bytes), summary.trace.size(),
      format_bytes(summary.plan.lower_bound), summary.plan.planner, format_bytes(summary.plan.peak),
      percent(summary.plan.gap()), summary.plan.proved_optimal ? ", proved optimal" : "");
  if (memory.blocks) {
    text +=
        fmt::format("against the pool, the plan {};\n{}{} device allocations after the switch\n",
                    saving_sentence(pool_bytes(summary), memory.steady_peak_bytes()),
                    cause_text(summary), memory.device_allocations_after_switch);
  }
  if (memory.session) text += session_text(*memory.session, summary.steps);
  const int columns = std::clamp(width - kMapMargin, kMapRows, kMapColumns);
  return text + "\n" + plan_map(summary.trace, summary.plan, columns, kMapRows, false);
}

void write_summary(const RunSummary& summary, const RunDirectory& directory) {
  directory.replace("trace.csv", render([&](std::ostream& out) {
                      write_trace_csv(out, summary.trace, summary.plan.alignment);
                    }));
  directory.replace("plan.csv", render([&](std::ostream& out) {
                      write_plan_csv(out, summary.trace, summary.plan);
                    }));
  if (!summary.graph.ops.empty()) {
    directory.replace("graph.json", render([&](std::ostream& out) {
                        write_graph(out, summary.graph, summary.title);
                      }));
  }
  ReportData report = summary;
  report.curves = {replay_trace(summary.trace, kNetworkWise).curve,
                   replay_trace(summary.trace, kPool).curve,
                   planned_curve(summary.trace, summary.plan)};
  report.resident_bytes = summary.memory.resident_bytes;
  report.comparison = allocator_rows(summary);
  directory.replace("report.html", render_report(report));
}

}  // namespace skyline
