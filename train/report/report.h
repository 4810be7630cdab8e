#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/adaptors/observing_adaptors.h"
#include "memory/plan.h"
#include "memory/replay/trace_replay.h"
#include "memory/trace.h"
#include "train/cli/figures.h"
#include "train/decide/step_decisions.h"
#include "train/history/step_series.h"
#include "train/report/step_story.h"
#include "train/run/evaluation.h"
#include "train/run/memory_summary.h"

namespace skyline {

struct LossCurve {
  std::string name;  // the allocator's
  StepSeries losses;
};

// The figures of a run's evaluations.
struct EvaluationCurves {
  std::vector<Metric> metrics;
  Samples<EvaluatedStep> steps;
};

// A row of `compare`. Unmeasured values stay empty and are never printed as zero.
struct ComparisonRow {
  std::string allocator;
  std::string how = {};  // "warm-up", "the recorded step, replayed"; empty: it ran as the others
  std::optional<std::uint64_t> peak_reserved_bytes;  // of the whole run
  std::optional<std::uint64_t> peak_reserved_after_switch_bytes;
  std::optional<std::uint64_t> resident_bytes;
  std::optional<double> gap;  // to the lower bound
  std::optional<std::uint64_t> device_allocations_after_switch;
  std::optional<double> calls_per_step;  // allocations and frees
  std::optional<double> allocate_nanoseconds;
  std::optional<double> step_seconds;  // median
};

Rows<ComparisonRow> rows(const ComparisonRow*);  // the page's keys are those of `compare --json`

struct ReportFact {
  std::string name;   // "model"
  std::string value;  // "resnet20"
};

// Everything that the page of a run shows. The page omits empty parts.
struct ReportData {
  std::string title;
  std::vector<ReportFact> facts;

  // The recorded step and its plan. Tags and ids are shown if the trace has them.
  Trace trace;
  Plan plan;
  std::optional<InterruptedPart> interrupted;  // a part of a step that the plan does not have

  std::vector<AllocatorCurve> curves;  // over the ticks of the same step, without resident bytes
  std::uint64_t resident_bytes = 0;    // live across steps; the page adds them to the curves
  std::optional<StepStory> story;      // why the blocks of the step are alive
  std::vector<ComparisonRow> comparison;
  std::string baseline;  // the row that savings refer to; empty: best-fit-pool, or else the first
  std::vector<LossCurve> losses;
  EvaluationCurves evaluations;
  std::optional<ProcessSummary> process;
  StepsChart steps;                                       // over the steps of the run
  std::optional<OrderView> order;                         // of a training step
  std::optional<BudgetAnswer> budget;                     // with its curve
  std::vector<std::pair<std::string_view, Value>> parts;  // that others tell, by the page's key
  // True if losses and parameters were bit-equal under every allocator; empty if not compared.
  std::optional<bool> bit_equal;
};

// Returns one self-contained HTML page, which loads nothing from elsewhere. Bytes that are not
// UTF-8 become replacement characters. Throws PlanMismatch when the plan does not have one offset
// for each block of the trace. O(size of the data). The page's data is a JSON object. Its blocks
// are arrays [lower, upper, bytes, offset, op, layer, phase, category, id] with texts as indices
// into "strings". Unknown figures are null. "steps" exists only if there are lines over the steps.
// A series over steps has points of "per" steps each, with their means, minima and maxima; a line
// lists its bytes wherever they change. So the page's size has a bound for runs of any length.
std::string render_report(const ReportData& data);

}  // namespace skyline
