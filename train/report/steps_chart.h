#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skyline {

// What one allocator held over the steps of a run. Steps are counted from 0 here.
struct StepsLine {
  std::string name;  // the allocator's
  // The most that was taken from the device during each step, resident memory included. Fewer than
  // the others have: it stopped there, for want of memory say.
  std::vector<std::uint64_t> reserved_bytes;
  std::vector<std::uint64_t> replans;  // steps before which a new plan was put in place; ascending
};

// Anything counted once a step, such as the words of the longest source sentence.
struct StepsSeries {
  std::string name;  // "source"
  std::vector<std::uint64_t> values;
};

// Memory over the steps of a run, every allocator on the same batches. Up to 100,000 steps are
// drawn at once: where several share a pixel, from the least to the most of them.
struct StepsChart {
  std::uint64_t first_step = 1;  // its number
  std::vector<StepsLine> lines;  // none: nothing is drawn
  // The most alive during each step, as requested, resident memory included; the same for all
  // lines. Empty: unknown.
  std::vector<std::uint64_t> live_bytes;
  std::vector<StepsSeries> lengths;  // drawn below, on the same steps
  std::string lengths_name;          // what they count: "longest sentence, in words"
};

}  // namespace skyline
