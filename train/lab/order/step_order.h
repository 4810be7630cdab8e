#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/order/order.h"
#include "memory/step_graph.h"
#include "train/cli/figures.h"
#include "train/lab/order/bound_explanation.h"
#include "train/options/step_options.h"
#include "train/options/train_options.h"
#include "train/report/step_story.h"
#include "train/run/dry_run.h"

namespace skyline {

// What the order of a step's ops costs. All bytes are rounded as allocators round them, and without
// those of resident values.
struct StepOrder {
  std::string algorithm;          // that ordered the executed step
  std::uint64_t program = 0;      // peak of the program's sequence
  std::uint64_t early = 0;        // of that with each update as soon as it may run
  std::uint64_t late = 0;         // of the order `late`
  std::uint64_t peak = 0;         // of the executed sequence
  std::uint64_t lower_bound = 0;  // of all that run the forward ops in the program's sequence
  std::uint64_t free = 0;         // the least that was found over all orders, forward ops too
  std::uint64_t free_lower_bound = 0;
  std::uint64_t placed = 0;                          // what the plan of the executed step takes
  std::optional<BoundExplanation> explanation = {};  // of the lower bound

  bool proved_optimal() const { return peak == lower_bound; }
  bool free_proved_optimal() const { return free == free_lower_bound; }

  std::string text() const;  // lines of at most 80 columns
};
Rows<StepOrder> rows(const StepOrder*);

// One step, recorded in the program's sequence and as it is executed.
struct OrderedStep {
  const StepGraph& program;
  const StepGraph& executed;
  std::string algorithm;
  bool in_place = true;
};

// How order problems of recorded steps are made and searched.
OrderOptions step_order_options(bool in_place);

// Searches over all orders and, unless their bound proves the executed one, over those with forward
// as written. Leaves `placed` 0. Throws GraphError for an unsound graph.
StepOrder step_order(const OrderedStep& step);

// Returns the last batch of a recorded training step in the program's sequence and as executed. Its
// peaks are those of step_order() and the resident bytes. Ops are named by their layer, too. Throws
// what step_order() throws.
OrderView step_order_view(const DryRunFacts& step, const StepOptions& options);

// The story of a step with the seconds of the device's model (budget/device_speed.h).
std::optional<StepStory> model_story(const RecordedStep& step, const Trace& trace,
                                     const TrainOptions& options);

}  // namespace skyline
