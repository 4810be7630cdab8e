#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// How backward can make a value of forward again, instead of keeping it.
struct Remake {
  enum Times : char {
    kNever,  // the value is kept
    kOnce,   // right before its first reader in backward, and kept until its last
    kEach    // right before each op that reads it, a remake perhaps, and freed after that op
  };

  ValueId value = 0;                 // owns bytes, is not resident and not kept
  std::vector<ValueId> inputs = {};  // read again: resident values, or values of forward
  std::uint64_t workspace_bytes = 0;
  std::vector<InPlacePair> in_place = {};  // of `inputs` and output 0, the value
  double seconds = 0;

  // Returns the op that writes the value, as the step of `graph` would run it.
  StepOp op(const StepGraph& graph) const;
};

// An op of a problem, or a remake.
struct RemadeOp {
  std::uint32_t index = 0;
  bool is_remake = false;
};

// Ops that a slower engine could compute in a smaller workspace: all of them or none, so that a
// value that is made again has the bits of forward.
struct SmallerEngine {
  struct Use {
    RemadeOp op;
    std::uint64_t workspace_bytes = 0;  // less than the op's own
    double extra_seconds = 0;
  };
  std::vector<Use> uses = {};
};

// Which smaller engines compute, by engine of a problem; empty: none.
using SmallerEngines = std::vector<char>;

// A training step that may be asked to fit into fewer bytes. Sizes are as allocators round them.
struct BudgetProblem {
  StepGraph graph;              // in the program's sequence; makes nothing again
  std::vector<double> seconds;  // of each op
  OpId backward = 0;            // the first op that reads remade values
  std::vector<Remake> remakes;  // at most one a value
  bool makes_each = false;      // the step can make values again for each reader
  std::vector<SmallerEngine> engines = {};
};

// How often each remake runs. A value that is made again is freed after its last reader in forward.
// Every choice is sound: a remake reads its inputs like any op, so these are kept, or made again in
// their turn.
using RemakeChoice = std::vector<Remake::Times>;

// Finds where the remakes of a choice run. An op makes its inputs again one by one; what one of
// them made for another is used again. Every op reads the copy that was made last. Remakes that
// nothing reads are left out. The problem must outlive it. Without recursion; O(size) a choice.
class RemadeSequence {
 public:
  explicit RemadeSequence(const BudgetProblem& problem);
  // Returns false if the step has more than eight times the ops of the problem: two inputs that
  // need the same values twice double them, layer by layer. With kOnce alone it never has.
  bool find(const RemakeChoice& choice);
  const std::vector<RemadeOp>& ops() const { return ops_; }
  // Returns the remake that can make the bytes of `value` again; kNoRemake without one.
  std::uint32_t remake_of(ValueId value) const;

  static constexpr std::uint32_t kNoRemake = ~std::uint32_t{0};

 private:
  // An op that is about to run: it looks for its inputs.
  struct Waiting {
    std::uint32_t remake = kNoRemake;
    std::uint32_t next = 0, end = 0;  // in inputs_
    std::size_t made = 0;             // in made_
  };

  void add_inputs(const std::vector<ValueId>& inputs);
  bool lacks_input(OpId op, const RemakeChoice& choice) const;
  Waiting waiting(std::size_t op, std::uint32_t remake) const;
  std::size_t most_ops() const;
  void run_before(OpId op, const RemakeChoice& choice);
  void run(const Waiting& op, const RemakeChoice& choice);

  const BudgetProblem& problem_;
  std::vector<std::uint32_t> remake_of_;  // by value that owns bytes
  std::vector<std::uint32_t> inputs_;     // remakes, by op that reads their values
  std::vector<std::uint32_t> first_;      // in inputs_, by op of the problem, then by remake
  std::vector<RemadeOp> ops_;
  std::vector<char> at_hand_;  // by remake
  std::vector<Waiting> stack_;
  std::vector<std::uint32_t> made_;  // kEach, for the ops on the stack
};

// Returns the step under a choice, in the program's sequence. Values keep their numbers; remade
// values follow. Throws GraphError for a choice that RemadeSequence refuses.
StepGraph remade_step(const BudgetProblem& problem, const RemakeChoice& choice,
                      const SmallerEngines& smaller = {});

// A choice and what its step takes in the program's sequence.
struct BudgetPoint {
  RemakeChoice choice;
  std::uint64_t peak = 0;    // bytes, without resident values
  double extra_seconds = 0;  // of its remakes and its smaller engines
  SmallerEngines smaller = {};
};

// Points of which none takes as few bytes and as few seconds as another.
class BudgetFront {
 public:
  // Adds a point unless one of the front is as good; drops those that it beats.
  void add(const RemakeChoice& choice, std::uint64_t peak, double extra_seconds,
           const SmallerEngines& smaller = {});
  // Returns the fastest point within `bytes`; null if there is none.
  const BudgetPoint* within(std::uint64_t bytes) const;
  // Returns the slowest point that takes more than `bytes`; null if there is none.
  const BudgetPoint* beyond(std::uint64_t bytes) const;
  // Returns the points from the most bytes to the fewest.
  std::vector<BudgetPoint> points() const;

 private:
  std::map<std::uint64_t, BudgetPoint> points_;  // by peak
};

}  // namespace skyline
