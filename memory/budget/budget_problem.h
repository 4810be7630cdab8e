#pragma once

#include <cstdint>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// How backward can make a value of forward again, instead of keeping it.
struct Remake {
  ValueId value = 0;                 // owns bytes, is not resident and not kept
  std::vector<ValueId> inputs = {};  // read again: resident values, or values of forward
  std::uint64_t workspace_bytes = 0;
  std::vector<InPlacePair> in_place = {};  // of `inputs` and output 0, the value
  double seconds = 0;

  // Returns the op that writes the value, as the step of `graph` would run it.
  StepOp op(const StepGraph& graph) const;
};

// A training step that may be asked to fit into fewer bytes. Sizes are as allocators round them.
struct BudgetProblem {
  StepGraph graph;              // in the program's sequence; makes nothing again
  std::vector<double> seconds;  // of each op
  OpId backward = 0;            // the first op that reads remade values
  std::vector<Remake> remakes;  // at most one a value
};

// A flag for each remake. True frees the value after its last reader in forward and makes it again,
// once, right before its first reader in backward. Every choice is sound: a remake reads its inputs
// like any op, so these are kept, or made again in their turn.
using RemakeChoice = std::vector<char>;

// An op of a problem, or a remake.
struct RemadeOp {
  std::uint32_t index = 0;
  bool is_remake = false;
};

// Finds where the remakes of a choice run. Remakes that nothing reads are left out. The problem
// must outlive it. O(size) a choice, without recursion.
class RemadeSequence {
 public:
  explicit RemadeSequence(const BudgetProblem& problem);
  void find(const RemakeChoice& choice);
  const std::vector<RemadeOp>& ops() const { return ops_; }
  // Returns the remake that can make the bytes of `value` again; kNoRemake without one.
  std::uint32_t remake_of(ValueId value) const;

  static constexpr std::uint32_t kNoRemake = ~std::uint32_t{0};

 private:
  void run_before(const std::vector<ValueId>& inputs, const RemakeChoice& choice);
  void push(const std::vector<ValueId>& inputs, const RemakeChoice& choice);

  const BudgetProblem& problem_;
  std::vector<std::uint32_t> remake_of_;  // by value that owns bytes
  std::vector<RemadeOp> ops_;
  std::vector<char> has_run_;
  std::vector<std::uint32_t> stack_;
};

// Returns the step under a choice, in the program's sequence. Values keep their numbers; remade
// values follow.
StepGraph remade_step(const BudgetProblem& problem, const RemakeChoice& choice);

}  // namespace skyline
