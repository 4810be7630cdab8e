#pragma once

#include "train/cli/console.h"
#include "train/options/train_options.h"

namespace skyline {

// Answers --lanes auto before a run begins: trains a network that is thrown away for some steps
// with each division of the cores, and returns `options` with the lanes, and threads of an op, of
// the fastest. Divisions have the run's threads, if they are given or stored, so that a resumed run
// keeps its bits; else one lane with the model's default, and lanes that share all cores. Returns
// other options as they are. `options` are resolved.
TrainOptions with_chosen_lanes(TrainOptions options, Console& console);

}  // namespace skyline
