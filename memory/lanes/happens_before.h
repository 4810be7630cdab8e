#pragma once

#include <cstdint>
#include <vector>

#include "memory/lanes/lane_schedule.h"
#include "memory/lanes/step_edges.h"

namespace skyline {

// Which op is done whenever another begins, on any machine (MXNet note: the ancestor query). Op a
// happens before op b if a path of edges leads from a to b; ops of one lane happen in the program's
// sequence. Holds one bit for each pair of ops.
class HappensBefore {
 public:
  // Without lanes only the edges order ops. O(edges × ops / 64).
  explicit HappensBefore(const StepEdges& edges, const Lanes& lanes = {});
  // No op waits yet.
  explicit HappensBefore(std::size_t ops);

  // Op `op` waits for op `before`, which comes earlier in the program and has all its waits.
  void add_wait(OpId op, OpId before);

  std::size_t ops() const { return ops_; }
  bool before(OpId first, OpId second) const {
    return (ancestors(second)[first / 64] >> (first % 64) & 1) != 0;
  }

 private:
  const std::uint64_t* ancestors(OpId op) const { return bits_.data() + op * words_; }

  std::size_t ops_, words_;
  std::vector<std::uint64_t> bits_;  // by op: the ops before it
};

}  // namespace skyline
