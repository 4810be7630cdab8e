#pragma once

#include "framework/backward/backward_graph.h"
#include "train/optimizers/optimizer.h"
#include "train/run/step_shares.h"

namespace skyline {

// Adds the updates of a network's parameters to the graph of a step's last batch. Several ranks sum
// their gradients before. Gradients travel together, in the buckets of `shares`: a sum begins when
// the last gradient of its bucket is written and runs beside the rest of backward and the updates
// of earlier buckets. Gradients stay where they are: none is copied.
//
// If the ranks share the updates, each gets the sums of its share alone, updates it, and the ranks
// gather the parameters, bucket by bucket. Clipping needs all sums, so each rank gets all. Throws
// std::logic_error if the buckets are not of this graph's gradients.
void add_sums_and_updates(BackwardGraph& graph, const Optimizer& optimizer,
                          const UpdateParams& params, const StepShares& shares);

}  // namespace skyline
