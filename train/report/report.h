#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/plan.h"
#include "memory/replay/memory_curve.h"
#include "memory/trace.h"
#include "train/report/steps_chart.h"

namespace skyline {

struct LossCurve {
  std::string name;            // the allocator's
  std::vector<double> losses;  // one a step; not finite: a gap in the curve
};

// A row of `compare`; what was not measured stays empty and is never printed as zero.
struct ComparisonRow {
  std::string allocator;
  std::optional<std::uint64_t> peak_reserved_bytes;
  std::optional<std::uint64_t> resident_bytes;
  std::optional<double> gap;  // to the lower bound
  std::optional<std::uint64_t> device_allocations_after_switch;
  std::optional<double> calls_per_step;  // allocations and frees
  std::optional<double> allocate_nanoseconds;
  std::optional<double> step_seconds;  // median
};

struct ReportFact {
  std::string name;   // "model"
  std::string value;  // "resnet20"
};

// Everything that the page of a run shows. An empty part is left out of the page.
struct ReportData {
  std::string title;
  std::vector<ReportFact> facts;

  // The recorded step and its plan; tags and ids of the trace are shown where it has them.
  Trace trace;
  Plan plan;

  std::vector<AllocatorCurve> curves;  // over the ticks of the same step
  std::uint64_t resident_bytes = 0;    // live across steps; part of what the curves count
  std::vector<ComparisonRow> comparison;
  std::string baseline;  // the row that savings refer to; empty: best-fit-pool, else the first
  std::vector<LossCurve> losses;
  StepsChart steps;  // over the steps of the run
  // Whether losses and parameters were equal bit for bit under every allocator, when compared.
  std::optional<bool> bit_equal;
};

// One self-contained HTML page: no script, style, font or picture comes from elsewhere. Text that
// is not UTF-8 is shown with replacement characters. Throws PlanMismatch when the plan has not one
// offset for each block of the trace. O(size of the data).
std::string render_report(const ReportData& data);

}  // namespace skyline
