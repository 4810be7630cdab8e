#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace skyline::tests {

// The stand-in for libcublasLt does what this says, and notes here what it sees. Algorithms are
// numbered as offered.
struct ScriptedCublas {
  int offered = 3;
  std::set<int> invalid;  // offered with a state that is no success
  std::set<int> failing;  // when run
  std::vector<int> run;   // what was run, failures too
  int epilogue = 0;
  std::uint64_t most_workspace_bytes = 0;  // of the last preference
  void* workspace = nullptr;               // of the last product
  std::size_t workspace_bytes = 0;
};

}  // namespace skyline::tests

// Returns the script of this process.
extern "C" skyline::tests::ScriptedCublas* scripted_cublas();
