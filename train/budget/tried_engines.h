#pragma once

#include <map>
#include <memory>
#include <string>

#include "framework/engines/engine_choices.h"

namespace skyline {

// Engines by the problem that they compute; see EngineChoices.
using EngineNames = std::map<std::string, std::string>;

// Chooses engines for kernels that are made from now on, besides those that a file or a measurement
// has chosen.
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
