#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "framework/engines/engine_choices.h"
#include "train/decide/step_decisions.h"
#include "train/run/dry_run.h"

namespace skyline {

// Sets engines for kernels made later; never overrides a file or a measurement.
class TriedEngines {
 public:
  explicit TriedEngines(std::shared_ptr<EngineChoices> choices) : choices_(std::move(choices)) {}

  // Takes back what was chosen before. Returns false if nothing changes.
  bool choose(const EngineNames& names);

 private:
  std::shared_ptr<EngineChoices> choices_;
  EngineNames chosen_;
};

// Returns the problems whose engines would raise the peak of a step: in the order of the step with
// direct kernels (`direct`), one of their ops has more bytes alive than any op of that step. A
// workspace lives as long as its op, so no engine depends on another. `by_rule` is the same step in
// the program's sequence, with the engines that a rule chose.
std::set<std::string> engines_above_peak(const DryRunFacts& direct, const DryRunFacts& by_rule);

// Returns how much workspace a card's engines may ask for, in bytes by problem, where they ask for
// more than the peak of the step would have room for if they asked for none; at least a block. With
// `wants_room`, returns the same of all kernels that ask for it, see EngineUse.
std::map<std::string, std::size_t> workspaces_within_peak(DryRunFacts step,
                                                          bool wants_room = false);

}  // namespace skyline
