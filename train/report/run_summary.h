#pragma once

#include <optional>
#include <string>
#include <vector>

#include "memory/plan.h"
#include "train/checkpoints/run_directory.h"
#include "train/report/report.h"
#include "train/run/memory_summary.h"

namespace skyline {

// What a finished run tells about its step's memory.
struct RunSummary {
  std::string title;  // "lenet on shapes"
  std::vector<ReportFact> facts;
  MemorySummary memory;
  Trace trace;  // of a training step
  Plan plan;
  std::vector<double> losses;
  std::optional<double> step_seconds;  // median
  StepsChart steps;                    // where steps differ
};

// The table, the saving in one line and the plan's map in characters, `width` columns wide.
std::string summary_text(const RunSummary& summary, int width);

// Writes trace.csv, plan.csv and report.html into the run folder. Throws WriteError.
void write_summary(const RunSummary& summary, const RunDirectory& directory);

}  // namespace skyline
