#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace skyline
