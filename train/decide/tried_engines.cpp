#include "train/decide/tried_engines.h"

namespace skyline {

bool TriedEngines::choose(const EngineNames& names) {
  if (names == chosen_) return false;
  for (const auto& [problem, name] : chosen_) choices_->by_problem.erase(problem);
  for (const auto& [problem, name] : names) choices_->by_problem[problem] = {.name = name};
  chosen_ = names;
  return true;
}

}  // namespace skyline
