#pragma once

#include <memory>

#include "framework/engines/engine_choices.h"
#include "train/decide/budget_answer.h"

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

}  // namespace skyline
