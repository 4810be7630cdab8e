// Finds which ops may run, and which blocks be in use, at once on lanes; and the waits that shared
// bytes add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/step_graph.h"

namespace skyline {

// Pairs of things that no path orders, a bit for each: ops that may run at once, or blocks that may
// be in use at once. Of two things that do not conflict, the one with the lower number comes first,
// and whatever comes before a thing comes before all that follow it.
class Conflicts {
 public:
  explicit Conflicts(std::size_t size)
      : size_(size), words_((size + 63) / 64), bits_(size * words_) {}

  std::size_t size() const { return size_; }
  bool conflict(std::size_t a, std::size_t b) const {
    return (bits_[a * words_ + b / 64] >> (b % 64) & 1) != 0;
  }
  void add(std::size_t a, std::size_t b) {
    set(a, b);
    set(b, a);
  }
  // The conflicts of one thing, 64 in a word.
  std::span<const std::uint64_t> row(std::size_t a) const {
    return {bits_.data() + a * words_, words_};
  }

 private:
  void set(std::size_t a, std::size_t b) {
    bits_[a * words_ + b / 64] |= std::uint64_t{1} << (b % 64);
  }

  std::size_t size_, words_;
  std::vector<std::uint64_t> bits_;
};

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

// Returns which ops may run at once.
Conflicts op_conflicts(const HappensBefore& order);

// Returns which blocks of a simulated step must not share bytes: those alive at one tick, and those
// of which the earlier may still be in use when an op requests the later. O(blocks²).
Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order);

// A colour for each op: those below `paths` stand for a path each, the colour `paths` for all ops
// on none.
struct PathColours {
  std::vector<std::uint32_t> of_op;
  std::uint32_t paths = 0;
};

// The same, and only blocks that ops of one colour request may share bytes; if the ops are on no
// path, whenever their ticks allow it, so that ops may have to wait.
Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order,
                          const PathColours& colours);

// Returns the waits that a plan of a simulated step adds because blocks share bytes (MXNet note:
// the implicit edges): an op that requests a block waits for the ops that use an earlier block with
// bytes in common. Without those that edges, lanes or other waits enforce anyway. By op that waits;
// each once. Without lanes only edges order ops. O(blocks²).
std::vector<LaneEvent> sharing_edges(const SimulatedStep& step, const Plan& plan,
                                     const StepEdges& edges, const Lanes& lanes = {});

// Returns the edges and the waits.
StepEdges with_waits(StepEdges edges, const std::vector<LaneEvent>& waits);

}  // namespace skyline
