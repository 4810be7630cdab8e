#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/device.h"
#include "memory/step_graph.h"
#include "memory/trace.h"
#include "train/labs/exercises/exercises.h"

namespace skyline {

// One line of a score: what was asked, and the points for it.
struct LabMark {
  std::string task;
  int points = 0;
  int most = 0;         // points
  std::string finding;  // what was seen, e.g. "6.3 %"; the first fault of a task that failed
};

// The score of one exercise; the tasks of an exercise are worth 100 points together.
struct LabScore {
  std::string lab;
  std::uint64_t seed = 0;  // of the hidden cases
  std::vector<LabMark> marks;

  int points() const noexcept;
  int most() const noexcept;
  std::string text() const;  // a table; ends with a newline
};

// An exercise. Students write the function of train/labs/exercises/<name>_exercise.cpp.
struct Lab {
  std::string_view name;
  std::string_view summary;  // one line
  LabScore (*score)(std::uint64_t seed);
};

// The exercises, in the order of a course.
std::span<const Lab> labs();

// Scores the exercise called `name` on the cases of `seed`. Throws std::invalid_argument, naming
// the exercises that there are, for an unknown name.
LabScore score_lab(std::string_view name, std::uint64_t seed);

// Returns a mark with all points where `met`, else none.
LabMark mark(std::string task, int most, bool met, std::string finding = "");

// Returns an offset in bytes for each block of the trace.
using PlanWriter = std::function<std::vector<std::uint64_t>(const Trace&)>;

// Scores a planner on 60 hidden traces: valid plans first (the validator checks them), then how far
// the peaks are, on average, above those of the portfolio planner.
LabScore score_planner(const PlanWriter& writer, std::uint64_t seed);

// Makes an allocator that takes its memory from the device, by allocate() and deallocate().
using AllocatorMaker = std::function<std::unique_ptr<Allocator>(Device& device)>;

// Scores an allocator on 20 hidden runs of ten steps whose sizes differ: it may never hand out
// live bytes or bytes that it does not have, and returns all at its end. Then the device's calls
// and the reserved bytes are compared with those of the best-fit pool.
LabScore score_allocator(const AllocatorMaker& make, std::uint64_t seed);

// Says whether `op` may write its output pair.output over its input pair.input.
// reads_left[value] counts the reads of a value that are still to come, those of `op` included.
using OverwriteRule =
    std::function<bool(const StepGraph& graph, const StepOp& op, const InPlacePair& pair,
                       std::span<const std::int64_t> reads_left)>;

// Scores a rule on 200 hidden step graphs. Each step is run with numbers in place of tensors: every
// value that an op reads, and every resident or kept value at the end, must be what the same step
// computes without overwriting. Then the peaks are compared with simulate().
LabScore score_in_place(const OverwriteRule& rule, std::uint64_t seed);

// Returns the graph's ops in the order in which they shall run.
using OrderWriter = std::function<std::vector<OpId>(const StepGraph&)>;

// Scores an order of ops on 60 hidden step graphs: sequences that respect what ops need (the
// checker checks them), then their peaks against the program's order and against proved optima.
LabScore score_order(const OrderWriter& writer, std::uint64_t seed);

// Returns where the bytes of a step go.
using BytesWriter = std::function<GptBytes(const GptNumbers&)>;

// Scores tables of bytes of 10 hidden networks: each line must be what a dry run of the step finds.
LabScore score_bytes(const BytesWriter& writer, std::uint64_t seed);

}  // namespace skyline
