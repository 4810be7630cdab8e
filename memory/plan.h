#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// The answer of a general solver about the program that it was given.
struct SolverReport {
  std::string solver = {};  // "CBC"
  // "optimal", "infeasible", "time limit", "node limit", "first solution" (any was asked for), or
  // "gave up".
  std::string status = {};
  // Bytes: what the solver itself proved, to its tolerances; empty: nothing.
  std::optional<std::uint64_t> bound = {};
  std::uint64_t nodes = 0;  // of its search tree
  double seconds = 0;       // by the clock on the wall
};

// An offset for each request of a trace, in the trace's order.
struct Plan {
  std::vector<std::uint64_t> offsets = {};
  std::uint64_t peak = 0;         // bytes: max(offset + planned_bytes())
  std::uint64_t lower_bound = 0;  // bytes: the maximum in use at one tick
  // Bytes: no plan for the trace has a lower peak. At least the lower bound, more if a planner
  // proved it; a smaller capacity is proved impossible.
  std::uint64_t proved_bound = 0;
  std::uint64_t alignment = kAlignmentBytes;  // of all blocks, unless the trace states others
  std::string planner = {};                   // e.g. "best-fit"
  bool proved_optimal = false;                // the peak is the proved bound
  std::uint64_t seed = 0;
  double seconds = 0;             // spent planning
  double validation_seconds = 0;  // spent by the validator afterwards; 0: not measured
  // The time limit ended the planner's first pass, so the offsets are those of program-order.
  bool out_of_time = false;
  std::optional<SolverReport> solver = {};           // of planner mip
  std::optional<std::size_t> preplaced_blocks = {};  // of planner pyramid

  // Returns (peak − lower bound) / lower bound; 0 for an empty trace.
  double gap() const noexcept {
    if (lower_bound == 0) return 0;
    return (static_cast<double>(peak) - static_cast<double>(lower_bound)) /
           static_cast<double>(lower_bound);
  }
};

}  // namespace skyline
