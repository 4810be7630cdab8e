#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "framework/step_recorder.h"

namespace skyline {

// Whether backward recomputes an output of an op, whatever that costs, and retains what the op
// reads instead.
enum class Recomputing : char {
  kNever,
  kOnce,  // right before the first op that reads it
  kEach,  // right before each op that reads it, and freed after that op
};
// Each batch of a step saves bytes in this way. No bit of a result depends on it.
struct ByteSavings {
  // An unlisted turn is treated like the last listed turn before it, because this batch is longer
  // than the planned one. All other unlisted values are kept.
  std::map<ValueName, Recomputing> recomputed = {};
  bool early_sums = false;                         // of gradients, see BackwardGraph
  std::set<std::string, std::less<>> rounds = {};  // chains that run in rounds, see chain()

  bool operator==(const ByteSavings&) const = default;
};
// Null: none.
using Savings = std::shared_ptr<const ByteSavings>;

}  // namespace skyline
