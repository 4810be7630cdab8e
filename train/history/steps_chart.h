#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/history/step_series.h"

namespace skyline {

// The memory of one allocator over the steps of a run.
struct StepsLine {
  std::string name;  // the allocator's
  // Peak of each step, including resident memory. A line that is shorter than others stopped there,
  // for instance because memory ran out.
  StepSeries reserved_bytes = StepSeries();
  StepSeries replans = StepSeries();  // new plans of each step
  // The same in few numbers, for text: of each 100 steps, in long runs of 200, 400 and so on.
  StepSeries replans_by_hundreds = StepSeries(1024, 100);
};

// Any count per step, such as the words of the longest source sentence.
struct StepsSeries {
  std::string name;  // "source"
  StepSeries values = StepSeries();
};

// The figures of one step; those that are not known are not measured.
struct StepMemory {
  std::optional<std::uint64_t> reserved_bytes, live_bytes;
  std::uint64_t replans = 0;  // new plans since the step before
  std::vector<std::pair<std::string, std::uint64_t>> lengths;
};

// Memory over the steps of a run, with every allocator on the same batches. Steps that share a
// point or a pixel are drawn from their minimum to their maximum.
struct StepsChart {
  std::uint64_t first_step = 1;  // its number
  std::vector<StepsLine> lines;  // empty: no chart
  // Peak of live bytes in each step, as requested, including resident memory; the same for all
  // lines. Empty: unknown.
  StepSeries live_bytes = StepSeries();
  std::vector<StepsSeries> lengths;  // drawn below, over the same steps
  std::string lengths_name;          // what they count: "longest sentence, in words"

  // Adds a step of the one allocator `name` to all series.
  void add(const std::string& name, const StepMemory& step);
  // Adds steps of which nothing is known to the series that there are.
  void add_missing(std::uint64_t steps);
};

// Returns the sums of a series' points.
std::vector<std::uint64_t> sums_of(const StepSeries& series);

}  // namespace skyline
