#include "train/lab/order/model_story.h"

#include <utility>

#include "train/budget/device_speed.h"

namespace skyline {

std::optional<StepStory> model_story(const RecordedStep& step, const Trace& trace,
                                     const TrainOptions& options) {
  const DeviceSpeed speed = assumed_speed(options.memory.device);
  std::vector<double> again = foreseen_seconds(step, speed);
  for (const RecordedRecomputation& remake : step.recomputations) again[remake.op] *= remake.share;
  return step_story(step, trace, options.step.in_place,
                    {.of = std::move(again), .source = speed.text()});
}

}  // namespace skyline
