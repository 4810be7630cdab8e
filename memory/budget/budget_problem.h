// A step that may recompute values, the choices, and what each takes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// How backward can recompute a value of forward, instead of keeping it.
struct Recompute {
  enum Times : char {
    kNever,  // the value is kept
    kOnce,   // right before its first reader in backward, and kept until its last
    kEach,   // right before each op that reads it, a recompute perhaps, and freed after that op
    kLater   // kept for the first op of backward that needs it, then as kEach
  };

  ValueId value = 0;  // owns bytes, is not resident; neither it nor a view of it is kept
  std::vector<ValueId> inputs = {};  // read again: resident values, or values of forward
  std::uint64_t workspace_bytes = 0;
  std::vector<InPlacePair> in_place = {};  // of `inputs` and output 0, the value
  double seconds = 0;

  // Returns the op that writes the value, as the step of `graph` would run it.
  StepOp op(const StepGraph& graph) const;
};

// An op of a problem, or a recompute of one of its values.
struct RecomputedOp {
  std::uint32_t index = 0;
  bool is_recompute = false;
};

// Ops that a slower engine could compute in a smaller workspace: all of them or none, so that a
// recomputed value has the bits of forward.
struct SmallerEngine {
  struct Use {
    RecomputedOp op;
    std::uint64_t workspace_bytes = 0;  // less than the op's own
    double extra_seconds = 0;
  };
  std::vector<Use> uses = {};
};

// Which smaller engines compute, by engine of a problem; empty: none.
using SmallerEngines = std::vector<char>;

// A training step that may be asked to fit into fewer bytes. Sizes are as allocators round them.
struct BudgetProblem {
  StepGraph graph;                    // in the program's sequence; recomputes nothing
  std::vector<double> seconds;        // of each op
  OpId backward = 0;                  // the first op that reads recomputed values
  std::vector<Recompute> recomputes;  // at most one a value
  bool recomputes_each = false;       // a value may be recomputed once per reader
  bool recomputes_later = false;      // or, too, for all but the first
  std::vector<SmallerEngine> engines = {};
};

// How often each recompute runs. A recomputed value is freed after its last reader in forward.
// Every choice is sound: a recompute reads its inputs like any op, so these are kept, or recomputed
// in their turn.
using RecomputeChoice = std::vector<Recompute::Times>;

// Finds where the recomputes of a choice run. An op recomputes its inputs one by one; what one of
// them recomputed for another serves both. Every op reads the copy that was made last. Recomputes
// that nothing reads are left out. The problem must outlive it. Without recursion; O(size) a
// choice.
class RecomputeSequence {
 public:
  explicit RecomputeSequence(const BudgetProblem& problem);
  // Returns false if the step has more than eight times the ops of the problem: two inputs that
  // need the same values twice double them, layer by layer. With kOnce alone it never has.
  bool find(const RecomputeChoice& choice);
  // A recompute, and the op of the problem right before which it runs.
  struct Placed {
    std::uint32_t recompute = 0;
    OpId before = 0;
  };
  const std::vector<Placed>& recomputes() const { return placed_; }
  std::vector<RecomputedOp> ops() const;       // of the whole step
  double seconds() const { return seconds_; }  // of the recomputes
  // Returns the recompute of the bytes of `value`; kNoRecompute without one.
  std::uint32_t recompute_of(ValueId value) const;

  static constexpr std::uint32_t kNoRecompute = ~std::uint32_t{0};

 private:
  // An op that is about to run: it looks for its inputs.
  struct Waiting {
    std::uint32_t recompute = kNoRecompute;
    std::uint32_t next = 0, end = 0;  // in inputs_
    std::size_t made = 0;             // in made_
  };

  void add_inputs(const std::vector<ValueId>& inputs);
  void read_kept(std::size_t op);
  bool lacks_input(OpId op) const;
  Waiting waiting(std::size_t op, std::uint32_t recompute) const;
  void run_before(OpId op, const RecomputeChoice& choice);
  void run(const Waiting& op, OpId before, const RecomputeChoice& choice);

  const BudgetProblem& problem_;
  std::vector<std::uint32_t> recompute_of_;  // by value that owns bytes
  std::vector<std::uint32_t> inputs_;        // recomputes, by op that reads their values
  std::vector<std::uint32_t> first_;         // in inputs_, by op of the problem, then by recompute
  std::vector<OpId> readers_;                // ops of backward that read these
  std::vector<Placed> placed_;
  std::size_t most_ops_ = 0;
  double seconds_ = 0;
  std::vector<char> missing_;             // by recompute: must run before its value is read
  std::vector<char> kept_;                // by recompute: kLater, and forward's value is at hand
  std::vector<std::uint32_t> read_kept_;  // of these, for the running op of backward
  std::vector<Waiting> stack_;
  std::vector<std::uint32_t> made_;  // kEach, for the ops on the stack
};

// Returns the step under a choice, in the program's sequence. Values keep their numbers; recomputed
// values follow. Throws GraphError for a choice that RecomputeSequence refuses.
StepGraph recomputed_step(const BudgetProblem& problem, const RecomputeChoice& choice,
                          const SmallerEngines& smaller = {});

// A choice and what its step takes in the program's sequence.
struct BudgetPoint {
  RecomputeChoice choice;
  std::uint64_t peak = 0;    // bytes, without resident values
  double extra_seconds = 0;  // of its recomputes and its smaller engines
  SmallerEngines smaller = {};
};

// Points of which none takes as few bytes and as few seconds as another.
class BudgetFront {
 public:
  // Adds a point unless one of the front is as good; drops those that it beats.
  void add(const RecomputeChoice& choice, std::uint64_t peak, double extra_seconds,
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
