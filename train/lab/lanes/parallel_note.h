#pragma once

#include <string>

#include "train/lab/lanes/lane_answer.h"

namespace skyline {

// Returns the example of the MXNet note, "Memory Allocation for Parallel Operations": A[1] feeds
// two branches, A[2] to A[4] and A[5] to A[7], which A[8] joins. All values have one size. Run as
// written, one lane lets A[5] take the bytes of A[2], so the branches cannot run side by side.
StepGraph parallel_note_graph();

// The note's example on two lanes; each op takes one second.
struct ParallelNote {
  StepGraph graph = parallel_note_graph();
  LaneAnswer answer;
};
ParallelNote reproduce_parallel_note();

Rows<ParallelNote> rows(const ParallelNote*);
std::string parallel_note_text(const ParallelNote& note);
std::string parallel_note_page(const ParallelNote& note);

}  // namespace skyline
