#include "train/labs/exercises/exercises.h"

namespace skyline {

// Begins with a plan without sharing: each block has bytes of its own.
std::vector<std::uint64_t> plan_exercise(const Trace& trace) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t next = 0;
  for (const TraceBlock& block : trace.blocks) {
    offsets.push_back(next);
    next += block.bytes;
  }
  return offsets;
}

}  // namespace skyline
