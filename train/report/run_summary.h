#pragma once

#include <optional>
#include <string>

#include "memory/step_graph.h"
#include "train/report/report.h"
#include "train/run/memory_summary.h"
#include "train/run_folder/run_directory.h"

namespace skyline {

// The memory report of a finished run. Its curves and its rows of allocators are replayed from the
// trace when they are shown.
struct RunSummary : ReportData {
  MemorySummary memory;
  StepGraph graph;  // of a training step in the program's sequence, see program_graph.h; or empty
  std::optional<double> step_seconds;  // median
};

// Returns the table of allocators, the saving in one line and the plan as a map for a terminal of
// `width` columns.
std::string summary_text(const RunSummary& summary, int width);

// Writes trace.csv, plan.csv, graph.json (unless the graph is empty) and report.html into the run
// folder. Throws WriteError.
void write_summary(const RunSummary& summary, const RunDirectory& directory);

}  // namespace skyline
