#pragma once

#include <cstdint>

#include "framework/context.h"

namespace skyline {

class OptionList;

// Ways to lower a step's memory. To add one: a member, its row, and a line in context_options().
// Every command that runs steps then has it.
struct StepOptions {
  bool in_place = true;
  std::int64_t recompute = 0;  // see Context::Options
  bool fused_update = false;
};

// --no-in-place, --recompute and --fused-update.
void add_step_options(OptionList& list, StepOptions& options);

Context::Options context_options(const StepOptions& options);

}  // namespace skyline
