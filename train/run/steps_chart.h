#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skyline {

// The memory of one allocator over the steps of a run. Steps count from 0 here.
struct StepsLine {
  std::string name;  // the allocator's
  // Peak of each step, including resident memory. A line that is shorter than others stopped there,
  // for instance because memory ran out.
  std::vector<std::uint64_t> reserved_bytes;
  std::vector<std::uint64_t> replans;  // the first step of each new plan, ascending
};

// Any count per step, such as the words of the longest source sentence.
struct StepsSeries {
  std::string name;  // "source"
  std::vector<std::uint64_t> values;
};

// Memory over the steps of a run, with every allocator on the same batches. Up to 100,000 steps are
// drawn at once; steps that share a pixel are drawn from their minimum to their maximum.
struct StepsChart {
  std::uint64_t first_step = 1;  // its number
  std::vector<StepsLine> lines;  // empty: no chart
  // Peak of live bytes in each step, as requested, including resident memory; the same for all
  // lines. Empty: unknown.
  std::vector<std::uint64_t> live_bytes;
  std::vector<StepsSeries> lengths;  // drawn below, over the same steps
  std::string lengths_name;          // what they count: "longest sentence, in words"
};

}  // namespace skyline
