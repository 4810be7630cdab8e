#include "train/options/step_options.h"

#include "train/cli/option_list.h"

namespace skyline {

void add_step_options(OptionList& list, StepOptions& options) {
  list.add("--no-in-place", negated_flag(options.in_place), "Never write an output over an input");
  list.add("--recompute", integer(options.recompute, 0, 1000),
           "Recompute chains of up to N cheap ops in backward instead of storing results (0: off)",
           kMayBeAbsent);
  list.add("--fused-update", flag(options.fused_update),
           "Update each parameter as soon as backward has its gradient, then free the gradient",
           kMayBeAbsent);
}

Context::Options context_options(const StepOptions& options) {
  return {.in_place = options.in_place,
          .recompute = static_cast<int>(options.recompute),
          .fused_update = options.fused_update};
}

}  // namespace skyline
