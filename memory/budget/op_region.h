// Ops of a step that one op can do in rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// Ops of forward, or of backward, that one op can replace. It computes their outputs part by part,
// so that the values between them, which only they read, never exist whole.
struct OpRegion {
  struct Rounds {
    std::uint64_t count = 2;            // into how many parts
    std::uint64_t workspace_bytes = 0;  // the parts of the values inside, and the ops' workspaces
    double seconds = 0;
    std::shared_ptr<const OpRounds> slices = {};  // of the workspace; null: unknown
  };
  // No path between two of the ops leads through another op.
  std::vector<OpId> ops = {};
  // The op in rounds reads these values from outside. Forward need not keep for it what lies in
  // another region in rounds and is no input here, because it recomputes that, round by round.
  std::vector<ValueId> inputs = {};
  // Pairs of an input and a value that leaves the region: that value may overwrite that input.
  std::vector<std::pair<ValueId, ValueId>> in_place = {};
  std::vector<Rounds> rounds = {};
};

// By region: 0 if its ops run whole, else 1 + the number of its rounds.
using RoundsChoice = std::vector<std::size_t>;

// Returns all choices in which each op runs once, from all whole on: regions that share an op are
// alternatives. Throws GraphError if there are more than `most`.
std::vector<RoundsChoice> rounds_choices(const std::vector<OpRegion>& regions, std::size_t most);

// A step some of whose regions run in rounds.
struct ProblemInRounds {
  BudgetProblem problem;
  std::vector<OpId> ops;  // of the whole step, by op; an op in rounds is the last of its region
};

// Returns the step of `whole` under a choice. An op in rounds stands where the last op of its
// region stood, and ops that read what it writes follow it. It writes what ops outside of it read,
// and what is kept or resident. Values keep their numbers; those inside belong to no op. What
// leaves a region is recomputed by its op in rounds.
//
// `shares`: the recomputes of one op in rounds share its seconds and need no room for its other
// outputs, as one run gives all of them: a relaxation, for bounds.
//
// Throws GraphError for a region that is no such set of ops, and for a step with smaller engines.
ProblemInRounds in_rounds(const BudgetProblem& whole, const std::vector<OpRegion>& regions,
                          const RoundsChoice& choice, bool shares = false);

// Marks the ops of a step that belong to no group.
inline constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

// Returns a relaxation of `whole`, for bounds of all steps that run any of the groups in rounds: a
// step that is found in any of these takes as few bytes and seconds here. A group, by op, is what
// one op of forward and one of backward can replace; these take no fewer seconds than its ops and
// write over no input. Values that one group alone writes and reads take no bytes, because they
// may never exist whole, and no workspace of a group does.
BudgetProblem in_any_rounds(BudgetProblem whole, const std::vector<std::uint32_t>& groups);

}  // namespace skyline
