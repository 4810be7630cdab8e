#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/cli/figures.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {

struct TogetherOptions {
  DryRunOptions program;           // a training step
  double time_limit_seconds = 10;  // of each planner or order that calls a solver
};

// One step as one work would have it. All bytes are without resident ones.
struct TogetherRow {
  std::string work, name;  // "PGMO", "best-fit"
  std::uint64_t bytes = 0;
  double above_bound = 0;  // share that it takes more; negative if it recomputes
  // Calls of the device in the first step and in a later one, and the nanoseconds of a request and
  // its free in a step that has come before.
  std::uint64_t first_calls = 0;
  double later_calls = 0, nanoseconds = 0;
  std::string needs;   // "nothing", "the graph", "a step": known before the first request
  std::string shapes;  // how it bears another shape: "as it comes", "a new plan"
  std::string status;  // what is proved
  std::string adds;    // what the idea adds to those before it
  // Bytes taken so far, at equal parts of the step: reserved by a pool, or below the highest byte
  // that a plan has used.
  std::vector<std::uint64_t> curve;
};

// The three works, and what came before and after them, on one recorded step.
struct Together {
  TogetherOptions options;
  std::size_t requests = 0, ops = 0;
  std::vector<TogetherRow> rows;
  std::optional<std::string> left_out;  // why PGMO's program is no row: the step is too large
  std::vector<std::uint64_t> live;      // bytes alive, at the places of the curves
  std::uint64_t step_bound = 0;         // no plan of the recorded step needs less
  std::uint64_t bound = 0;              // no plan of any order needs less without recomputing
  double seconds = 0;                   // of the command

  // Throws std::out_of_range for an unknown name.
  const TogetherRow& row(std::string_view name) const;
};

// Throws ShapeError, and what planners throw.
Together reproduce_together(const TogetherOptions& options);

Rows<Together> rows(const Together*);
std::string together_text(const Together& together);
// Returns one self-contained HTML page with the bytes of all rows over the step.
std::string together_page(const Together& together);

}  // namespace skyline
