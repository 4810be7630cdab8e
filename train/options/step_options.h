#pragma once

#include <cstdint>

#include "framework/context.h"

namespace skyline {

class OptionList;

// How a step keeps its memory low. To add such an option: a member, its row, and a line in
// context_options(); every command that runs steps then has it.
struct StepOptions {
  bool in_place = true;
  std::int64_t recompute = 0;  // see Context::Options
  bool fused_update = false;
};

// --no-in-place, --recompute and --fused-update.
void add_step_options(OptionList& list, StepOptions& options);

Context::Options context_options(const StepOptions& options);

}  // namespace skyline
