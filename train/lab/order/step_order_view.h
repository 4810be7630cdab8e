#pragma once

#include "train/lab/order/step_order.h"
#include "train/options/step_options.h"
#include "train/report/order_view.h"
#include "train/run/dry_run.h"

namespace skyline {

// Returns the last batch of a recorded training step in the program's sequence and as executed. Its
// peaks are those of step_order() and the resident bytes. Ops are named by their layer, too. Throws
// what step_order() throws.
OrderView step_order_view(const DryRunFacts& step, const StepOptions& options);

}  // namespace skyline
